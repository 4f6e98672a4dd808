//! BERT's encoder (Devlin et al. 2018). The tokens of several texts are the rows of one matrix, so that the weights are read
//! once for all of them; only attention tells the texts apart.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis, s};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use crate::numbers::{gelu_rows, mean_row, normalise_rows, product, softmax_rows};

/// The settings in the original package's `config.json` that the encoder's form depends on.
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

/// The activations that are supported.
#[derive(Debug, Clone, Copy, Deserialize)]
enum Activation {
    #[serde(rename = "gelu")]
    Gelu,
}

/// The named tensors of a weights file.
struct Weights<'a>(SafeTensors<'a>);

impl Weights<'_> {
    /// The numbers of the tensor `name`, which has to have this shape.
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self
            .0
            .tensor(name)
            .map_err(|error| format!("`{name}`: {error}"))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            return Err(format!(
                "`{name}` is {:?} of shape {:?}, expected F32 of shape {shape:?}",
                tensor.dtype(),
                tensor.shape()
            ));
        }
        let numbers = tensor.data().as_chunks().0.iter();
        Ok(numbers.map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }

    fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<Array2<f32>, String> {
        let numbers = self.numbers(&format!("{name}.weight"), &[shape.0, shape.1])?;
        Array2::from_shape_vec(shape, numbers).map_err(|error| format!("`{name}.weight`: {error}"))
    }

    fn norm(&self, name: &str, width: usize, eps: f64) -> Result<LayerNorm, String> {
        Ok(LayerNorm {
            weight: self.numbers(&format!("{name}.weight"), &[width])?,
            bias: self.numbers(&format!("{name}.bias"), &[width])?,
            eps: eps as f32,
        })
    }

    fn linear(&self, name: &str, from: usize, to: usize) -> Result<Linear, String> {
        Ok(Linear {
            weight: self.matrix(name, (to, from))?,
            bias: self.numbers(&format!("{name}.bias"), &[to])?,
        })
    }
}

struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    eps: f32,
}

impl LayerNorm {
    fn apply(&self, mut states: Array2<f32>) -> Array2<f32> {
        normalise_rows(&mut states, &self.weight, &self.bias, self.eps);
        states
    }
}

/// A linear layer; `weight` has one row for each number that the layer gives.
struct Linear {
    weight: Array2<f32>,
    bias: Vec<f32>,
}

impl Linear {
    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut out = product(states.view(), self.weight.t());
        for mut row in out.rows_mut() {
            for (x, bias) in row.iter_mut().zip(&self.bias) {
                *x += bias;
            }
        }
        out
    }
}

pub(crate) struct Bert {
    words: Array2<f32>,
    positions: Array2<f32>,
    types: Array2<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Bert {
    /// Loads the encoder from the bytes of a safetensors file.
    ///
    /// # Errors
    /// The part of the file that is missing or has another form.
    pub(crate) fn load(weights: &[u8], config: &Config) -> Result<Self, String> {
        let weights = Weights(SafeTensors::deserialize(weights).map_err(|error| error.to_string())?);
        let width = config.hidden_size;
        if width == 0
            || !width.is_multiple_of(config.num_attention_heads.max(1))
            || config.type_vocab_size == 0
        {
            return Err(format!(
                "{} heads can't share {width} numbers, or there is no token type",
                config.num_attention_heads
            ));
        }
        let table =
            |name: &str, rows| weights.matrix(&format!("embeddings.{name}_embeddings"), (rows, width));
        Ok(Self {
            words: table("word", config.vocab_size)?,
            positions: table("position", config.max_position_embeddings)?,
            types: table("token_type", config.type_vocab_size)?,
            norm: weights.norm("embeddings.LayerNorm", width, config.layer_norm_eps)?,
            layers: (0..config.num_hidden_layers)
                .map(|idx| Layer::load(&weights, &format!("encoder.layer.{idx}"), config))
                .collect::<Result<_, _>>()?,
        })
    }

    /// For each text the mean of its tokens' states in the last layer: `hidden_size` numbers. It does not depend on the other
    /// texts.
    ///
    /// # Errors
    /// If the model does not know a token, or a text has more tokens than the model has positions.
    pub(crate) fn mean_states(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, String> {
        let mut texts_rows: Vec<Range<usize>> = Vec::with_capacity(texts.len());
        for tokens in texts {
            let start = texts_rows.last().map_or(0, |rows| rows.end);
            texts_rows.push(start..start + tokens.len());
        }
        let n_tokens = texts_rows.last().map_or(0, |rows| rows.end);
        let mut embedded = Array2::zeros((n_tokens, self.words.ncols()));
        let tokens = texts.iter().flat_map(|tokens| tokens.iter().enumerate());
        for ((position, &token), mut row) in tokens.zip(embedded.rows_mut()) {
            let token = token as usize;
            if token >= self.words.nrows() || position >= self.positions.nrows() {
                return Err(format!(
                    "the model has no token {token} or no position {position}"
                ));
            }
            let parts = [
                self.words.row(token),
                self.positions.row(position),
                self.types.row(0),
            ];
            for (col, x) in row.iter_mut().enumerate() {
                *x = parts[0][col] + parts[1][col] + parts[2][col];
            }
        }
        let embedded = self.norm.apply(embedded);
        let last = self
            .layers
            .iter()
            .fold(embedded, |states, layer| layer.apply(&states, &texts_rows));
        let texts_rows = texts_rows.into_iter();
        Ok(texts_rows
            .map(|rows| mean_row(last.slice(s![rows, ..])))
            .collect())
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
    fn load(weights: &Weights<'_>, at: &str, config: &Config) -> Result<Self, String> {
        let (width, wide, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.layer_norm_eps,
        );
        let square = |name: &str| weights.linear(&format!("{at}.{name}"), width, width);
        Ok(Self {
            n_heads: config.num_attention_heads,
            query: square("attention.self.query")?,
            key: square("attention.self.key")?,
            value: square("attention.self.value")?,
            attended: square("attention.output.dense")?,
            attended_norm: weights.norm(&format!("{at}.attention.output.LayerNorm"), width, eps)?,
            widen: weights.linear(&format!("{at}.intermediate.dense"), width, wide)?,
            narrow: weights.linear(&format!("{at}.output.dense"), wide, width)?,
            norm: weights.norm(&format!("{at}.output.LayerNorm"), width, eps)?,
        })
    }

    fn apply(&self, states: &Array2<f32>, texts_rows: &[Range<usize>]) -> Array2<f32> {
        let attended = self.attended.apply(&self.attend(states, texts_rows));
        let states = self.attended_norm.apply(states + &attended);
        let mut widened = self.widen.apply(&states);
        gelu_rows(&mut widened);
        self.norm.apply(states + &self.narrow.apply(&widened))
    }

    /// Attention: each token attends to the tokens of its own text, whose rows follow each other.
    fn attend(&self, states: &Array2<f32>, texts_rows: &[Range<usize>]) -> Array2<f32> {
        let head_width = states.ncols() / self.n_heads;
        let scale = (1.0 / (head_width as f64).sqrt()) as f32;
        let (query, key, value) = (
            self.query.apply(states),
            self.key.apply(states),
            self.value.apply(states),
        );
        let mut mixed = Array2::zeros(states.raw_dim());
        for text in texts_rows {
            let mut mixed = mixed.slice_mut(s![text.clone(), ..]);
            for (head, mut out) in mixed.axis_chunks_iter_mut(Axis(1), head_width).enumerate() {
                let cols = head * head_width..(head + 1) * head_width;
                let [query, key, value] =
                    [&query, &key, &value].map(|part| part.slice(s![text.clone(), cols.clone()]));
                let mut shares = product(rows(query).view(), rows(key.t()).view());
                shares.mapv_inplace(|score| score * scale);
                softmax_rows(&mut shares);
                out.assign(&product(shares.view(), rows(value).view()));
            }
        }
        mixed
    }
}

/// A copy of the matrix with its rows stored one after another.
fn rows(matrix: ArrayView2<'_, f32>) -> Array2<f32> {
    matrix.as_standard_layout().into_owned()
}
