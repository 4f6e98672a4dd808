//! Tokens of the read API, which give access to private data. The table holds their digests, never
//! the tokens.

use std::fmt;
use std::str::FromStr;

use dataperf::ports::PortError;
use dataperf::{Digest, SubmitterName, Timestamp};

use crate::table::Table;
use crate::table::items::{Item, SCHEMA, count, text};
use crate::table::keys::Key;
use crate::table::query::Partition;
use crate::table::reader::Reader;

/// The one partition of all tokens; no benchmark has this id.
const PARTITION: &str = "token";
const PREFIX: &str = "dpk_";
const N_HEX: usize = 64;
/// The attribute with the end of a token, in seconds since 1970 as DynamoDB wants it: the table drops the item some time after that.
const EXPIRES: &str = "expires_seconds";
/// The default validity of a token in days.
pub const TOKEN_DAYS: u32 = 90;
const DAY_MILLIS: i64 = 86_400_000;
const ORGANIZER: &str = "organizer";
const SUBMITTER: &str = "submitter";

/// A secret that says who asks: `dpk_` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A token's SHA-256, under which the table keeps whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenDigest(String);

/// The holder of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The organizer's: all may be read.
    Organizer,
    /// A submitter's: what is its own may be read, in every benchmark.
    Submitter(SubmitterName),
}

/// A token as the table knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// The digest.
    pub digest: TokenDigest,
    /// The holder.
    pub holder: Holder,
    /// The benchmarks that a submitter may upload to; all of them if empty.
    pub benchmarks: Vec<String>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// From when on it is not valid any more.
    pub expires_at: Timestamp,
}

impl Issued {
    /// Whether a submitter may upload to a benchmark with it.
    pub fn uploads_to(&self, benchmark: &str) -> bool {
        self.benchmarks.is_empty() || self.benchmarks.iter().any(|named| named == benchmark)
    }

    /// Whether it is valid at a time.
    pub fn is_valid(&self, at: Timestamp) -> bool {
        at < self.expires_at
    }
}

/// The time that is `days` days after another.
///
/// ```
/// let time: dataperf::Timestamp = "2026-03-01T12:00:00.250Z".parse()?;
/// assert_eq!(dataperf_aws::days_after(time, 30).to_string(), "2026-03-31T12:00:00.250Z");
/// # Ok::<(), dataperf::InvalidTimestamp>(())
/// ```
pub fn days_after(time: Timestamp, days: u32) -> Timestamp {
    Timestamp::from_unix_millis(time.unix_millis() + i64::from(days) * DAY_MILLIS)
}

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token: expected `{PREFIX}` and {N_HEX} hexadecimal digits")]
pub struct InvalidToken;

impl Token {
    /// A token of 32 random bytes.
    ///
    /// ```
    /// let token = dataperf_aws::Token::from_random([7; 32]);
    /// assert_eq!(token.secret().parse(), Ok(token.clone()));
    /// assert!(!format!("{token:?}").contains("0707"), "it is a secret");
    /// ```
    pub fn from_random(random: [u8; 32]) -> Self {
        let digits: Vec<String> = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{PREFIX}{}", digits.concat()))
    }

    /// The token itself, to be shown once.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Its digest.
    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Digest::compute(self.0.as_bytes()).hex())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({PREFIX}…)")
    }
}

impl FromStr for Token {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidToken)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() == N_HEX && digits.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidToken)
        }
    }
}

impl TokenDigest {
    /// Its 64 hexadecimal digits; the first ones name a token where people read.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Holder {
    /// `organizer` or `submitter`.
    pub fn role(&self) -> &'static str {
        match self {
            Self::Organizer => ORGANIZER,
            Self::Submitter(_) => SUBMITTER,
        }
    }
}

fn key(digest: &TokenDigest) -> Key {
    Key {
        pk: PARTITION.into(),
        sk: digest.0.clone(),
    }
}

fn issued(item: &Item) -> Result<Issued, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let holder = match reader.text("role")? {
        ORGANIZER => Holder::Organizer,
        SUBMITTER => Holder::Submitter(reader.parsed("submitter")?),
        other => return Err(reader.malformed(format!("`role` is `{other}`"))),
    };
    let seconds: Option<i64> = reader.number(EXPIRES)?;
    let seconds = seconds.ok_or_else(|| reader.malformed(format!("it has no number `{EXPIRES}`")))?;
    let benchmarks = match item.get("benchmarks") {
        Some(_) => serde_json::from_str(reader.text("benchmarks")?)
            .map_err(|error| reader.malformed(format!("`benchmarks`: {error}")))?,
        None => Vec::new(),
    };
    Ok(Issued {
        digest: TokenDigest(reader.text("sk")?.into()),
        holder,
        benchmarks,
        issued_at: reader.parsed("issued_at")?,
        expires_at: Timestamp::from_unix_millis(seconds.saturating_mul(1000)),
    })
}

/// The tokens in the table.
impl Table {
    /// The table's record of a token; `None` for one that was never issued or has been revoked. An
    /// expired token may still be there: see [`Issued::is_valid`].
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn issued(&self, token: &Token) -> Result<Option<Issued>, PortError> {
        let item = self.item(key(&token.digest())).await?;
        item.as_ref().map(issued).transpose()
    }

    /// Makes a token valid from one time until another, of which whole seconds are kept.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn issue(&self, issued: &Issued) -> Result<(), PortError> {
        let mut item = key(&issued.digest).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("role".into(), text(issued.holder.role()));
        item.insert("issued_at".into(), text(issued.issued_at.to_string()));
        let seconds = u64::try_from(issued.expires_at.unix_millis() / 1000).unwrap_or_default();
        item.insert(EXPIRES.into(), count(seconds));
        if let Holder::Submitter(submitter) = &issued.holder {
            item.insert("submitter".into(), text(submitter.as_str()));
        }
        if !issued.benchmarks.is_empty() {
            let benchmarks = serde_json::json!(issued.benchmarks).to_string();
            item.insert("benchmarks".into(), text(benchmarks));
        }
        self.put_item(item).await
    }

    /// Makes a token invalid at once.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn revoke(&self, digest: &TokenDigest) -> Result<(), PortError> {
        self.delete_item(key(digest)).await
    }

    /// All tokens that were not revoked, in the order of their digests; also those that have expired, until the table drops them.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn tokens(&self) -> Result<Vec<Issued>, PortError> {
        let items = self.query(&Partition::new(PARTITION)).await?;
        items.iter().map(issued).collect()
    }
}
