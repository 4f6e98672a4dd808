//! The account and the region that everything of the local cloud is in, and the names (ARN) of its resources.

/// The region every part of the local cloud answers for.
pub const REGION: &str = "us-east-1";
/// The account id in the names of functions and in events.
pub const ACCOUNT_ID: &str = "000000000000";

/// The name of a function among all resources.
pub(crate) fn function_arn(function: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{function}")
}

/// A secret's ARN; AWS puts a hyphen and six characters behind the name.
pub(crate) fn secret_arn(name: &str) -> String {
    format!("arn:aws:secretsmanager:{REGION}:{ACCOUNT_ID}:secret:{name}-local0")
}
