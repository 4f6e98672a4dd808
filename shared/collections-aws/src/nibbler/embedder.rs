//! Makes vectors of prompts, as the active data set defines.

use std::sync::Arc;

use crate::common::Rules;
use dataperf::Digest;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf_collections::nibbler::{
    CharacterNgrams, Configuration, Embed, EmbedError, Embedding, EmbeddingKind, MODEL_DIRECTORY, MODEL_FILES,
};
use tokio::sync::Mutex;

/// A model that embeds prompts, which any thread may use.
pub type Model = Box<dyn Embed + Send + Sync>;
/// Makes the sentence transformer of the bytes of its [`MODEL_FILES`], in their order. It is handed in by the `main` of the
/// one function that embeds prompts, so that no other has to build it.
pub type LoadModel = fn([&[u8]; 3]) -> Result<Model, EmbedError>;

/// Embeds prompts; the sentence transformer is loaded with the first one, and kept.
pub(crate) struct Embedder {
    load: LoadModel,
    kept: Mutex<Option<(Digest, Arc<Model>)>>,
}

impl Embedder {
    pub(crate) fn new(load: LoadModel) -> Self {
        let kept = Mutex::new(None);
        Self { load, kept }
    }

    /// A prompt's vector.
    ///
    /// # Errors
    /// The organizer's fault when the data set's weights can't be used; the error of reading them.
    pub(crate) async fn embed(
        &self,
        rules: &Rules<Configuration>,
        prompt: &str,
    ) -> Result<Embedding, WorkflowError> {
        let embedded = match rules.configuration.embedding {
            EmbeddingKind::CharacterNgrams => CharacterNgrams.embed(&[prompt]),
            EmbeddingKind::MiniLm => self.model(rules).await?.embed(&[prompt]),
        };
        let mut embedded = embedded.map_err(organizers)?;
        embedded
            .pop()
            .ok_or_else(|| WorkflowError::organizer("an embedding gave nothing"))
    }

    async fn model(&self, rules: &Rules<Configuration>) -> Result<Arc<Model>, WorkflowError> {
        let mut kept = self.kept.lock().await;
        if let Some((_, model)) = kept.as_ref().filter(|(dataset, _)| *dataset == rules.dataset) {
            return Ok(model.clone());
        }
        *kept = None; // two of them may not fit
        let mut files = Vec::with_capacity(MODEL_FILES.len());
        for name in MODEL_FILES {
            let file = rules.files.file(&format!("{MODEL_DIRECTORY}/{name}")).await;
            files.push(file?);
        }
        let bytes = std::array::from_fn(|idx| &*files[idx]);
        let model = Arc::new((self.load)(bytes).map_err(organizers)?);
        *kept = Some((rules.dataset, model.clone()));
        Ok(model)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err calls it")]
fn organizers(error: EmbedError) -> WorkflowError {
    WorkflowError::organizer(error.to_string())
}
