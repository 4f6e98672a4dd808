//! The sentence transformer all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019) from the files
//! of the original package: a BERT encoder of six layers, the mean over its tokens, made to have length 1.

mod bert;
mod numbers;
mod tokens;

use bert::{Bert, Config};
use dataperf_collections::nibbler::{Embed, EmbedError, Embedding, EmbeddingKind, MODEL_FILES};
use tokens::Tokenizer;

/// The most tokens of a prompt that are used, as in the original package (`sentence_bert_config.json`).
const MAX_TOKENS: usize = 256;

/// The most tokens that go through the model at once, of one or several texts, so that the largest matrix takes 6 MB.
const MAX_TOGETHER: usize = 1024;

/// The loaded model, which takes about 90 MB of memory. A text's vector does not depend on the texts that are embedded with it.
pub struct MiniLm {
    model: Bert,
    tokenizer: Tokenizer,
    most_tokens: usize,
}

impl MiniLm {
    /// The files of the original package that [`load`](Self::load) needs.
    pub const FILES: [&str; 3] = MODEL_FILES;

    /// Loads the model from the bytes of [`FILES`](Self::FILES), in their order.
    ///
    /// # Errors
    /// [`EmbedError`] if the files do not contain this model.
    pub fn load([config, tokenizer, weights]: [&[u8]; 3]) -> Result<Self, EmbedError> {
        let config: Config = serde_json::from_slice(config).map_err(failed("`config.json`"))?;
        let tokenizer = Tokenizer::parse(tokenizer).map_err(failed("`tokenizer.json`"))?;
        let model = Bert::load(weights, &config).map_err(failed("`model.safetensors`"))?;
        Ok(Self {
            model,
            tokenizer,
            most_tokens: MAX_TOKENS.min(config.max_position_embeddings),
        })
    }

    /// The vectors of texts, each of length 1. A text's vector does not depend on the other texts.
    ///
    /// # Errors
    /// [`EmbedError`] if the model's numbers make no vector.
    pub fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let embeddings = self.embed(texts)?;
        Ok(embeddings.iter().map(|it| it.as_slice().to_vec()).collect())
    }
}

fn failed<E: std::fmt::Display>(action: &'static str) -> impl Fn(E) -> EmbedError {
    move |error| EmbedError(format!("{action} of all-MiniLM-L6-v2: {error}"))
}

impl Embed for MiniLm {
    fn kind(&self) -> EmbeddingKind {
        EmbeddingKind::MiniLm
    }

    fn embed(&self, prompts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        let tokens = prompts
            .iter()
            .map(|prompt| self.tokenizer.encode(prompt, self.most_tokens));
        let tokens: Vec<Vec<u32>> = tokens.collect::<Result<_, _>>().map_err(failed("an embedding"))?;
        let mut embeddings = Vec::with_capacity(prompts.len());
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let (together, after) = rest.split_at(n_together(rest));
            let means = self.model.mean_states(together).map_err(failed("an embedding"))?;
            embeddings.extend(means.into_iter().map(Embedding::normalised));
            rest = after;
        }
        Ok(embeddings)
    }
}

/// The number of texts, from the first, that go through the model as one matrix; at least one.
fn n_together(texts: &[Vec<u32>]) -> usize {
    let mut n_tokens = 0;
    let fits = texts.iter().take_while(|tokens| {
        n_tokens += tokens.len();
        n_tokens <= MAX_TOGETHER
    });
    fits.count().max(1)
}
