//! A signer in memory: for tests.

use std::fmt;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

use crate::Timestamp;
use crate::ports::signer::{Signed, Signer};
use crate::ports::{PortError, async_trait};
use crate::signature::{PublicKey, spki};

/// A key that was made at random and is in memory only.
pub struct MemorySigner {
    id: String,
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl fmt::Debug for MemorySigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySigner({})", self.id)
    }
}

impl MemorySigner {
    /// A new key that signatures will name `id`.
    ///
    /// # Errors
    /// [`PortError::Transient`] when the system gives no random bytes.
    pub fn new(id: impl Into<String>) -> Result<Self, PortError> {
        let (id, random) = (id.into(), SystemRandom::new());
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let document =
            EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|error| failed(&id, error))?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random);
        let pair = pair.map_err(|error| failed(&id, error))?;
        Ok(Self { id, pair, random })
    }

    /// Its public half, for receipts of a benchmark, valid from a time on.
    pub fn public_key(&self, benchmark: &str, valid_from: Timestamp) -> PublicKey {
        let der = spki(self.pair.public_key().as_ref());
        PublicKey::new(&self.id, benchmark, &der, valid_from)
    }
}

#[async_trait]
impl Signer for MemorySigner {
    async fn sign(&self, _benchmark: &str, message: &[u8]) -> Result<Signed, PortError> {
        let signature = self.pair.sign(&self.random, message);
        let signature = signature.map_err(|error| failed(&self.id, error))?;
        Ok(Signed {
            key: self.id.clone(),
            signature: signature.as_ref().to_vec(),
        })
    }
}

fn failed(id: &str, error: impl fmt::Display) -> PortError {
    PortError::Transient {
        subject: format!("the key `{id}` in memory"),
        source: error.to_string().into(),
    }
}
