//! The private keys, in a file of the data directory that only its owner may read.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::StartError;
use crate::lock::locked;

const FILE: &str = "kms.json";
const OWNER_ONLY: u32 = 0o600;
/// How a `SubjectPublicKeyInfo` of a point on P-256 begins (RFC 5480, section 2).
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The content of the file.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// Key ids, and of each its PKCS #8 document in base64.
    keys: BTreeMap<String, String>,
    /// Aliases, with the id of each one's key.
    aliases: BTreeMap<String, String>,
}

struct Held {
    document: Document,
    pairs: BTreeMap<String, EcdsaKeyPair>,
}

/// The keys of a data directory.
pub(crate) struct SigningKeys {
    path: PathBuf,
    random: SystemRandom,
    held: Mutex<Held>,
}

impl SigningKeys {
    /// Opens the keys in `dir`. Those of `aliases` that name no key yet share a new one from now on.
    pub(crate) fn open(dir: &Path, aliases: &[String]) -> Result<Self, StartError> {
        let path = dir.join(FILE);
        let failed = |source: io::Error| StartError::DataDir {
            path: path.clone(),
            source,
        };
        let document = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Document::default(),
            Err(error) => return Err(failed(error)),
        };
        let random = SystemRandom::new();
        let pairs = pairs(&document, &random).map_err(failed)?;
        let keys = Self {
            path: path.clone(),
            random,
            held: Mutex::new(Held { document, pairs }),
        };
        let missing: Vec<&String> = aliases
            .iter()
            .filter(|alias| keys.resolve(alias).is_none())
            .collect();
        if !missing.is_empty() {
            let id = keys.create().map_err(failed)?;
            let point = |document: &mut Document| {
                let named = missing.into_iter().map(|alias| (alias.clone(), id.clone()));
                document.aliases.extend(named);
            };
            keys.change(point).map_err(failed)?;
        }
        Ok(keys)
    }

    /// The id of the key that an id, an alias or `key/ID` names.
    pub(crate) fn resolve(&self, name: &str) -> Option<String> {
        let document = &locked(&self.held).document;
        let id = name.strip_prefix("key/").unwrap_or(name);
        let id = document.aliases.get(name).map_or(id, String::as_str);
        document.keys.contains_key(id).then(|| id.to_owned())
    }

    /// Makes a key; its id.
    pub(crate) fn create(&self) -> io::Result<String> {
        let id = Uuid::new_v4().to_string();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &self.random);
        let made = STANDARD.encode(made.map_err(|_| io::Error::other("no random bytes"))?.as_ref());
        self.change(|document| {
            document.keys.insert(id.clone(), made);
        })?;
        Ok(id)
    }

    /// Points an alias to a key.
    pub(crate) fn point(&self, alias: &str, id: &str) -> io::Result<()> {
        self.change(|document| {
            document.aliases.insert(alias.to_owned(), id.to_owned());
        })
    }

    /// A key's public half as `SubjectPublicKeyInfo` in DER; empty without such a key.
    pub(crate) fn public_key(&self, id: &str) -> Vec<u8> {
        let held = locked(&self.held);
        let point = held.pairs.get(id).map(|pair| pair.public_key().as_ref());
        point.map_or_else(Vec::new, |point| [&P256_SPKI[..], point].concat())
    }

    /// A signature of `message` in DER.
    pub(crate) fn sign(&self, id: &str, message: &[u8]) -> Option<Vec<u8>> {
        let held = locked(&self.held);
        let signature = held.pairs.get(id)?.sign(&self.random, message).ok()?;
        Some(signature.as_ref().to_vec())
    }

    /// Changes what is held, first on disk.
    fn change(&self, change: impl FnOnce(&mut Document)) -> io::Result<()> {
        let mut held = locked(&self.held);
        let mut document = held.document.clone();
        change(&mut document);
        let pairs = pairs(&document, &self.random)?;
        write(&self.path, &serde_json::to_vec(&document)?)?;
        *held = Held { document, pairs };
        Ok(())
    }
}

fn pairs(document: &Document, random: &SystemRandom) -> io::Result<BTreeMap<String, EcdsaKeyPair>> {
    let pair = |(id, base64): (&String, &String)| {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("the key `{id}` is damaged"));
        let pkcs8 = STANDARD.decode(base64).map_err(|_| damaged())?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8, random);
        Ok((id.clone(), pair.map_err(|_| damaged())?))
    };
    document.keys.iter().map(pair).collect()
}

/// Writes the file whole or not at all, and to the disk.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("json.partial");
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(OWNER_ONLY)
        .open(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&partial, path)?;
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

    use super::*;

    #[test]
    fn keys_and_aliases_are_readable_by_their_owner() {
        let dir = tempfile::tempdir().unwrap();
        let aliases = ["alias/receipts", "alias/receipts-b"].map(str::to_owned);
        let keys = SigningKeys::open(dir.path(), &aliases).unwrap();
        let first = keys.resolve("alias/receipts").unwrap();
        assert_eq!(keys.resolve("alias/receipts-b"), Some(first.clone()));
        let mode = std::fs::metadata(dir.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, OWNER_ONLY);
        let signature = keys.sign(&first, b"a message").unwrap();
        let second = keys.create().unwrap();
        keys.point("alias/receipts", &second).unwrap();
        drop(keys);

        let keys = SigningKeys::open(dir.path(), &aliases).unwrap();
        assert_eq!(keys.resolve("alias/receipts"), Some(second.clone()));
        assert_eq!(keys.resolve(&format!("key/{first}")), Some(first.clone()));
        assert_eq!((keys.resolve("alias/other"), keys.resolve("")), (None, None));
        let holds = |id: &str| {
            let der = keys.public_key(id);
            let point = der.strip_prefix(&P256_SPKI).unwrap();
            let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
            key.verify(b"a message", &signature).is_ok()
        };
        assert_eq!((holds(&first), holds(&second)), (true, false));
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(
            SigningKeys::open(dir.path(), &[]).is_err(),
            "a damaged file is no empty one"
        );
    }
}
