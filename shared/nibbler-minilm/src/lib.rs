//! The sentence transformer all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019) by candle, from the files
//! of the original package: a BERT encoder of six layers, the mean over its tokens, made to have length 1.

mod bert;

use bert::{Bert, Config};
use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use dataperf_nibbler::{Embed, EmbedError, Embedding, EmbeddingKind};
use tokenizers::{Tokenizer, TruncationParams};

/// Tokens of a prompt that are looked at, as the original package has it (`sentence_bert_config.json`).
const MAX_TOKENS: usize = 256;

/// The model, loaded. It is about 90 MB, and embeds one prompt at a time, so that a vector doesn't depend on what it was
/// embedded with.
pub struct MiniLm {
    model: Bert,
    tokenizer: Tokenizer,
}

impl MiniLm {
    /// From the bytes of the data set's [`MODEL_FILES`](dataperf_nibbler::MODEL_FILES), in their order.
    ///
    /// # Errors
    /// [`EmbedError`] when they are not those of such a model.
    pub fn load([config, tokenizer, weights]: [&[u8]; 3]) -> Result<Self, EmbedError> {
        let config: Config = serde_json::from_slice(config).map_err(failed("`config.json`"))?;
        let mut tokenizer = Tokenizer::from_bytes(tokenizer).map_err(failed("`tokenizer.json`"))?;
        let truncation = TruncationParams {
            max_length: MAX_TOKENS.min(config.max_position_embeddings),
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(failed("`tokenizer.json`"))?;
        tokenizer.with_padding(None);
        let weights = VarBuilder::from_slice_safetensors(weights, DType::F32, &Device::Cpu);
        let weights = weights.map_err(failed("`model.safetensors`"))?;
        let model = Bert::load(&weights, &config).map_err(failed("`model.safetensors`"))?;
        Ok(Self { model, tokenizer })
    }

    fn vector(&self, prompt: &str) -> candle_core::Result<Embedding> {
        let encoded = self
            .tokenizer
            .encode(prompt, true)
            .map_err(candle_core::Error::wrap)?;
        let mean = self.model.states(encoded.get_ids())?.mean(0)?;
        Ok(Embedding::normalised(mean.to_vec1()?))
    }
}

fn failed<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> EmbedError {
    move |error| EmbedError(format!("{what} of all-MiniLM-L6-v2: {error}"))
}

impl Embed for MiniLm {
    fn kind(&self) -> EmbeddingKind {
        EmbeddingKind::MiniLm
    }

    fn embed(&self, prompts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        prompts
            .iter()
            .map(|prompt| self.vector(prompt).map_err(failed("an embedding")))
            .collect()
    }
}
