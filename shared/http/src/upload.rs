//! The request for a form that uploads one file, and the answer.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A file that somebody is going to upload.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadRequest {
    /// The benchmark's id.
    #[schema(example = "speech-selection")]
    pub benchmark: String,
    /// The leaderboard.
    #[schema(example = "en-25")]
    pub leaderboard: String,
    /// The round that it is for; where another one takes uploads by now, there is no form. Without it, it is for whichever does.
    #[schema(example = "open")]
    pub round: Option<String>,
    /// Whose it is; nobody's but the token's.
    #[schema(example = "ada")]
    pub submitter: Option<String>,
    /// The file's name.
    #[schema(example = "my-selection.json")]
    pub file: String,
    /// The file's size.
    #[schema(minimum = 1)]
    pub n_bytes: u64,
}

/// A form that uploads one file, until it expires.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UploadAnswer {
    /// Where to send it, as `multipart/form-data`.
    pub url: String,
    /// The fields to send, in this order; then one `file` with the file.
    pub fields: Vec<Field>,
    /// The key it will have. No other upload has it.
    pub key: String,
    /// Whose it will be.
    pub submitter: String,
    /// The round in which it counts.
    pub round: String,
    /// The largest file that is taken.
    pub max_bytes: u64,
    /// When the form expires.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// A field of a form.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Field {
    /// Its name.
    #[schema(example = "key")]
    pub name: String,
    /// Its value.
    pub value: String,
}
