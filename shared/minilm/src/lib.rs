//! The sentence transformer all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019) from the files
//! of the original package: a BERT encoder of six layers, the mean over its tokens, made to have length 1.

mod bert;
mod numbers;
mod tokens;

use bert::{Bert, Config};
use dataperf_nibbler::{Embed, EmbedError, Embedding, EmbeddingKind, MODEL_FILES};
use tokens::Tokenizer;

/// Tokens of a prompt that are looked at, as the original package has it (`sentence_bert_config.json`).
const MAX_TOKENS: usize = 256;

/// Tokens that go through the model at once, of one text or of several: 6 MB for the largest matrix.
const MAX_TOGETHER: usize = 1024;

/// The model, loaded. It is about 90 MB. What a text is embedded with does not change its vector.
pub struct MiniLm {
    model: Bert,
    tokenizer: Tokenizer,
    most_tokens: usize,
}

impl MiniLm {
    /// The files of the original package that are wanted.
    pub const FILES: [&str; 3] = MODEL_FILES;

    /// From the bytes of [`FILES`](Self::FILES), in their order.
    ///
    /// # Errors
    /// [`EmbedError`] when they are not those of such a model.
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

    /// The vectors of texts, each of length 1; a text gets the same one whatever it is embedded with.
    ///
    /// # Errors
    /// [`EmbedError`] when the model's numbers make no vector.
    pub fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let embeddings = self.embed(texts)?;
        Ok(embeddings.iter().map(|it| it.as_slice().to_vec()).collect())
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

/// How many of the first texts go through the model as one matrix: at least one.
fn n_together(texts: &[Vec<u32>]) -> usize {
    let mut n_tokens = 0;
    let fits = texts.iter().take_while(|tokens| {
        n_tokens += tokens.len();
        n_tokens <= MAX_TOGETHER
    });
    fits.count().max(1)
}
