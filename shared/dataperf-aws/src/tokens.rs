//! Tokens of the read API: who may read what is not public. The table holds their digests, never the tokens.

use std::fmt;
use std::str::FromStr;

use dataperf::ports::PortError;
use dataperf::{Digest, Timestamp};

use crate::items::{Item, SCHEMA, count, text};
use crate::keys::Key;
use crate::query::Partition;
use crate::reader::Reader;
use crate::table::Table;

/// The one partition of all tokens; no benchmark has this id.
const PARTITION: &str = "token";
const PREFIX: &str = "dpk_";
const N_HEX: usize = 64;
const ORGANIZER: &str = "organizer";
const SUBMITTER: &str = "submitter";

/// A secret that says who asks: `dpk_` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A token's SHA-256, under which the table keeps whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenDigest(String);

/// Whose a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The organizer's: all may be read.
    Organizer,
    /// A submitter's: what is its own may be read, in every benchmark.
    Submitter(String),
}

/// A token as the table knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// The digest.
    pub digest: TokenDigest,
    /// Whose it is.
    pub holder: Holder,
    /// When it was issued.
    pub issued_at: Timestamp,
}

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token: expected `{PREFIX}` and {N_HEX} hexadecimal digits")]
pub struct InvalidToken;

impl Token {
    /// A token of 32 random bytes.
    ///
    /// ```
    /// let token = dataperf_aws::Token::of([7; 32]);
    /// assert_eq!(token.secret().parse(), Ok(token.clone()));
    /// assert!(!format!("{token:?}").contains("0707"), "it is a secret");
    /// ```
    pub fn of(random: [u8; 32]) -> Self {
        let digits: Vec<String> = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{PREFIX}{}", digits.concat()))
    }

    /// The token itself, to be shown once.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Its digest.
    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Digest::of(self.0.as_bytes()).hex())
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
        SUBMITTER => Holder::Submitter(reader.text("submitter")?.into()),
        other => return Err(reader.malformed(format!("`role` is `{other}`"))),
    };
    Ok(Issued {
        digest: TokenDigest(reader.text("sk")?.into()),
        holder,
        issued_at: reader.parsed("issued_at")?,
    })
}

/// The tokens in the table.
impl Table {
    /// Whose the token is; `None` for one that was never issued or has been revoked.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn holder(&self, token: &Token) -> Result<Option<Holder>, PortError> {
        let item = self.item(key(&token.digest())).await?;
        Ok(item.as_ref().map(issued).transpose()?.map(|issued| issued.holder))
    }

    /// Makes a token valid.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn issue(&self, token: &Token, holder: &Holder, at: Timestamp) -> Result<(), PortError> {
        let mut item = key(&token.digest()).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("role".into(), text(holder.role()));
        item.insert("issued_at".into(), text(at.to_string()));
        if let Holder::Submitter(submitter) = holder {
            item.insert("submitter".into(), text(submitter));
        }
        self.write_item(item).await
    }

    /// Makes a token invalid at once.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn revoke(&self, digest: &TokenDigest) -> Result<(), PortError> {
        self.delete_item(key(digest)).await
    }

    /// All valid tokens, in the order of their digests.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn tokens(&self) -> Result<Vec<Issued>, PortError> {
        let items = self.query(&Partition::of(PARTITION)).await?;
        items.iter().map(issued).collect()
    }
}
