//! BERT's encoder (Devlin et al. 2018). candle has one in candle-transformers, among two hundred other models that take
//! two thirds of the processor time of all the rest of candle to build.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, linear};
use serde::Deserialize;

/// What of the original package's `config.json` the encoder's form depends on.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    pub(crate) max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
    #[serde(rename = "hidden_act")]
    _activation: Activation,
}

/// The activations that are known: one.
#[derive(Debug, Clone, Copy, Deserialize)]
enum Activation {
    #[serde(rename = "gelu")]
    Gelu,
}

pub(crate) struct Bert {
    words: Embedding,
    positions: Embedding,
    types: Embedding,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Bert {
    pub(crate) fn load(weights: &VarBuilder<'_>, config: &Config) -> Result<Self> {
        let width = config.hidden_size;
        let embeddings = weights.pp("embeddings");
        let layers = weights.pp("encoder.layer");
        Ok(Self {
            words: embedding(config.vocab_size, width, embeddings.pp("word_embeddings"))?,
            positions: embedding(
                config.max_position_embeddings,
                width,
                embeddings.pp("position_embeddings"),
            )?,
            types: embedding(
                config.type_vocab_size,
                width,
                embeddings.pp("token_type_embeddings"),
            )?,
            norm: layer_norm(width, config.layer_norm_eps, embeddings.pp("LayerNorm"))?,
            layers: (0..config.num_hidden_layers)
                .map(|idx| Layer::load(&layers.pp(idx), config))
                .collect::<Result<_>>()?,
        })
    }

    /// The last layer's states of one text's tokens, shape `(n_tokens, width)`.
    pub(crate) fn states(&self, tokens: &[u32]) -> Result<Tensor> {
        let tokens = Tensor::new(tokens, &Device::Cpu)?;
        let positions = Tensor::arange(0, tokens.dim(0)? as u32, &Device::Cpu)?;
        let types = self.types.forward(&tokens.zeros_like()?)?;
        let sum = ((self.words.forward(&tokens)? + self.positions.forward(&positions)?)? + types)?;
        let embedded = self.norm.forward(&sum)?;
        self.layers
            .iter()
            .try_fold(embedded, |states, layer| layer.forward(&states))
    }
}

struct Layer {
    n_heads: usize,
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    widen: Linear,
    narrow: Linear,
    norm: LayerNorm,
}

impl Layer {
    fn load(weights: &VarBuilder<'_>, config: &Config) -> Result<Self> {
        let (width, wide, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.layer_norm_eps,
        );
        let square = |name: &str| linear(width, width, weights.pp(name));
        Ok(Self {
            n_heads: config.num_attention_heads,
            query: square("attention.self.query")?,
            key: square("attention.self.key")?,
            value: square("attention.self.value")?,
            attended: square("attention.output.dense")?,
            attended_norm: layer_norm(width, eps, weights.pp("attention.output.LayerNorm"))?,
            widen: linear(width, wide, weights.pp("intermediate.dense"))?,
            narrow: linear(wide, width, weights.pp("output.dense"))?,
            norm: layer_norm(width, eps, weights.pp("output.LayerNorm"))?,
        })
    }

    fn forward(&self, states: &Tensor) -> Result<Tensor> {
        let attended = self.attended.forward(&self.attend(states)?)?;
        let states = self.attended_norm.forward(&(states + attended)?)?;
        let narrowed = self.narrow.forward(&self.widen.forward(&states)?.gelu_erf()?)?;
        self.norm.forward(&(states + narrowed)?)
    }

    fn attend(&self, states: &Tensor) -> Result<Tensor> {
        let (n_tokens, width) = states.dims2()?;
        let head_width = width / self.n_heads;
        let heads = |part: &Linear| -> Result<Tensor> {
            let split = part
                .forward(states)?
                .reshape((n_tokens, self.n_heads, head_width))?;
            split.transpose(0, 1)?.contiguous()
        };
        let (query, key, value) = (heads(&self.query)?, heads(&self.key)?, heads(&self.value)?);
        let scores = (query.matmul(&key.transpose(1, 2)?.contiguous()?)? / (head_width as f64).sqrt())?;
        let mixed = softmax_last_dim(&scores)?.matmul(&value)?;
        mixed.transpose(0, 1)?.contiguous()?.reshape((n_tokens, width))
    }
}
