//! Compares tokens with those of the tokenizers library; `tests/make_tokens.py` makes the expected ones.

use serde_json::{Value, json};

use super::*;

#[derive(Deserialize)]
struct Recorded {
    tokenizer: Value,
    most: usize,
    cases: Vec<(String, Vec<u32>)>,
}

fn recorded() -> Recorded {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tokens.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn parse(tokenizer: &Value) -> Result<Tokenizer, String> {
    Tokenizer::parse(tokenizer.to_string().as_bytes())
}

#[test]
fn texts_are_cut_as_the_library_cuts_them() {
    let recorded = recorded();
    let tokenizer = parse(&recorded.tokenizer).unwrap();
    assert!(recorded.cases.len() > 200);
    for (text, ids) in &recorded.cases {
        assert_eq!(
            tokenizer.encode(text, recorded.most).as_ref(),
            Ok(ids),
            "{text:?}"
        );
    }
}

#[test]
fn other_tokenizers_are_not_guessed_at() {
    let refused = |at: &str, value: Value| {
        let mut tokenizer = recorded().tokenizer;
        *tokenizer.pointer_mut(at).unwrap() = value;
        parse(&tokenizer).unwrap_err()
    };
    assert!(refused("/normalizer/type", json!("NFC")).contains("BertNormalizer"));
    assert!(refused("/pre_tokenizer/type", json!("Metaspace")).contains("BertPreTokenizer"));
    assert!(refused("/model/type", json!("BPE")).contains("WordPiece"));
    assert!(refused("/model/unk_token", json!("<unk>")).contains("`<unk>`"));
    assert!(refused("/post_processor/type", json!("Roberta")).contains("TemplateProcessing"));
    assert!(refused("/post_processor/single/1/Sequence/id", json!("B")).contains("`B`"));
    assert!(refused("/post_processor/single/0/SpecialToken/id", json!("[BOS]")).contains("`[BOS]`"));
    assert!(refused("/added_tokens/2/lstrip", json!(true)).contains("`[CLS]`"));
    let tokenizer = parse(&recorded().tokenizer).unwrap();
    assert!(tokenizer.encode("a", 1).is_err());
}
