//! Tests without the weights, which are too large to ship; the peer test has them. They embed with
//! a random model of the same form, and compare it only with itself.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::collections::BTreeMap;

use dataperf_collections::nibbler::Embed as _;
use dataperf_minilm::MiniLm;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

/// The width of the real model; kernels of matrix products are chosen by the widths.
const WIDTH: usize = 384;
const WIDE: usize = 1536;
const VOCABULARY: [&str; 9] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "horse", "ketchup", "lying", "in", "a",
];

fn config() -> Value {
    json!({
        "vocab_size": VOCABULARY.len(), "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 12,
        "intermediate_size": WIDE, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "max_position_embeddings": 512,
        "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 0,
        "position_embedding_type": "absolute", "use_cache": true, "classifier_dropout": null, "model_type": "bert",
    })
}

fn tokenizer() -> Value {
    let vocabulary: serde_json::Map<String, Value> = VOCABULARY
        .iter()
        .enumerate()
        .map(|(id, word)| ((*word).to_owned(), json!(id)))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "TemplateProcessing", "single": [
            { "SpecialToken": { "id": "[CLS]", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } },
            { "SpecialToken": { "id": "[SEP]", "type_id": 0 } } ], "pair": [
            { "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } } ],
            "special_tokens": { "[CLS]": { "id": "[CLS]", "ids": [2], "tokens": ["[CLS]"] },
                                "[SEP]": { "id": "[SEP]", "ids": [3], "tokens": ["[SEP]"] } } },
        "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": vocabulary },
    })
}

fn weights() -> Vec<u8> {
    let mut tensors: BTreeMap<String, (Vec<usize>, Vec<u8>)> = BTreeMap::new();
    let mut add = |name: String, shape: &[usize]| {
        let n: usize = shape.iter().product();
        let seed = name
            .bytes()
            .fold(0u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        let number = |idx: usize| (idx as u32 ^ seed).wrapping_mul(2_654_435_761) >> 8;
        let numbers = (0..n).flat_map(|idx| (number(idx) as f32 / (1 << 23) as f32 - 1.0).to_le_bytes());
        tensors.insert(name, (shape.to_vec(), numbers.collect()));
    };
    for (table, rows) in [("word", VOCABULARY.len()), ("position", 512), ("token_type", 2)] {
        add(format!("embeddings.{table}_embeddings.weight"), &[rows, WIDTH]);
    }
    let mut norm_and_linear = vec![("embeddings.LayerNorm".to_owned(), vec![WIDTH])];
    for layer in 0..2 {
        let at = format!("encoder.layer.{layer}");
        for (part, shape) in [
            ("attention.self.query", vec![WIDTH, WIDTH]),
            ("attention.self.key", vec![WIDTH, WIDTH]),
            ("attention.self.value", vec![WIDTH, WIDTH]),
            ("attention.output.dense", vec![WIDTH, WIDTH]),
            ("attention.output.LayerNorm", vec![WIDTH]),
            ("intermediate.dense", vec![WIDE, WIDTH]),
            ("output.dense", vec![WIDTH, WIDE]),
            ("output.LayerNorm", vec![WIDTH]),
        ] {
            norm_and_linear.push((format!("{at}.{part}"), shape));
        }
    }
    for (name, shape) in norm_and_linear {
        add(format!("{name}.weight"), &shape);
        add(format!("{name}.bias"), &shape[..1]);
    }
    let views = tensors.iter().map(|(name, (shape, bytes))| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap();
        (name.as_str(), view)
    });
    safetensors::serialize(views, None).unwrap()
}

#[test]
fn a_model_of_this_form_embeds_prompts() {
    let (config, tokenizer) = (config().to_string(), tokenizer().to_string());
    let model = MiniLm::load([config.as_bytes(), tokenizer.as_bytes(), &weights()]).unwrap();
    let long = "horse ".repeat(2_000);
    let prompts = [
        "a horse lying in ketchup",
        "A HORSE lying in Ketchup",
        "ketchup",
        &long,
        "",
    ];
    let vectors = model.embed(&prompts).unwrap();
    for vector in &vectors {
        assert_eq!(vector.as_slice().len(), WIDTH);
        assert!((vector.cosine(vector) - 1.0).abs() < 1e-5);
    }
    assert_eq!(vectors[0], vectors[1], "the model is uncased");
    assert!(vectors[0].cosine(&vectors[2]) < 0.9999);
    assert_eq!(
        model.embed(&prompts[2..3]).unwrap()[0],
        vectors[2],
        "alone as in company"
    );
}

/// The texts have all lengths, and more tokens in all than go through the model at once.
#[test]
fn a_vector_is_identical_in_any_batch() {
    let (config, tokenizer) = (config().to_string(), tokenizer().to_string());
    let model = MiniLm::load([config.as_bytes(), tokenizer.as_bytes(), &weights()]).unwrap();
    let words = &VOCABULARY[4..];
    let texts: Vec<String> = (0..60)
        .map(|text| {
            let n_words = if text % 20 == 19 { 300 } else { text * 7 % 45 };
            (0..n_words)
                .map(|word| words[(word * word + text) % words.len()])
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let bits = |texts: &[&str]| -> Vec<Vec<u32>> {
        let vectors = model.vectors(texts).unwrap();
        vectors
            .iter()
            .map(|vector| vector.iter().map(|x| x.to_bits()).collect())
            .collect()
    };
    let alone: Vec<Vec<u32>> = texts.iter().flat_map(|text| bits(&[text])).collect();
    assert!(alone.iter().collect::<std::collections::BTreeSet<_>>().len() > 40);
    for together in [2, 3, 10, 60] {
        let actual: Vec<Vec<u32>> = texts.chunks(together).flat_map(bits).collect();
        assert!(actual == alone, "{together} texts at once");
    }
}

#[test]
fn an_invalid_model_file_is_refused() {
    let (config, tokenizer) = (config().to_string(), tokenizer().to_string());
    let error = |files: [&[u8]; 3]| MiniLm::load(files).err().unwrap().to_string();
    let weights = weights();
    assert!(error([b"{}", tokenizer.as_bytes(), &weights]).contains("`config.json`"));
    assert!(error([config.as_bytes(), b"[]", &weights]).contains("`tokenizer.json`"));
    assert!(
        error([config.as_bytes(), tokenizer.as_bytes(), &weights[..1000]]).contains("`model.safetensors`")
    );
    let wide = config.replace("\"hidden_size\":384", "\"hidden_size\":396");
    assert_ne!(wide, config);
    assert!(error([wide.as_bytes(), tokenizer.as_bytes(), &weights]).contains("`model.safetensors`"));
}
