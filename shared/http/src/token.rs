//! Tokens, as requests send them.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use dataperf_aws::{Issued, Table, Token, now};

use crate::problem::Problem;

/// Reads the token of a request and looks it up in the table; `None` if the request has none.
///
/// # Errors
/// [`Problem`] if it is no token that was issued, was revoked or has expired, or the table does not answer.
pub async fn token(headers: &HeaderMap, table: &Table) -> Result<Option<Issued>, Problem> {
    let Some(sent) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let sent = sent.to_str().ok().and_then(|sent| sent.split_once(' '));
    let token = sent
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| token.trim().parse::<Token>().ok())
        .ok_or_else(Problem::bad_token)?;
    match table.issued(&token).await? {
        None => Err(Problem::bad_token()),
        Some(issued) if !issued.is_valid(now()) => Err(Problem::expired_token(issued.expires_at)),
        Some(issued) => Ok(Some(issued)),
    }
}
