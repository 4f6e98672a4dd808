//! Signs receipts with keys that never leave their keeper.

use super::{PortError, async_trait};

/// A signature, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The id of the key that was used.
    pub key: String,
    /// The signature: DER of the two numbers of ECDSA.
    pub signature: Vec<u8>,
}

/// Signs with ECDSA on P-256 and SHA-256.
#[async_trait]
pub trait Signer: Send + Sync {
    /// Signs `message`, at most 4,096 bytes, with the key for receipts of a benchmark.
    ///
    /// # Errors
    /// [`PortError`] when the keeper of the key does not sign.
    async fn sign(&self, benchmark: &str, message: &[u8]) -> Result<Signed, PortError>;
}

#[async_trait]
impl<S: Signer + ?Sized> Signer for &S {
    async fn sign(&self, benchmark: &str, message: &[u8]) -> Result<Signed, PortError> {
        (**self).sign(benchmark, message).await
    }
}
