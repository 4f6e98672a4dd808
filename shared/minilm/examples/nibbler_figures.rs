//! What the peer test compares: reads questions as JSON from standard input, answers as JSON. The only argument, if there
//! is one, is a frozen data set with the weights of all-MiniLM-L6-v2.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use dataperf_collections::nibbler::scores::agreement::{Level, alpha};
use dataperf_collections::nibbler::{
    CharacterNgrams, Embed, Embedding, MODEL_DIRECTORY, MODEL_FILES, vendi_score,
};
use dataperf_minilm::MiniLm;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Questions {
    /// Ratings by unit.
    ratings: Vec<Vec<Vec<u8>>>,
    /// Sets of vectors of length 1.
    vectors: Vec<Vec<Vec<f32>>>,
    prompts: Vec<String>,
}

fn main() -> Result<()> {
    let questions: Questions = serde_json::from_reader(std::io::stdin())?;
    let prompts: Vec<&str> = questions.prompts.iter().map(String::as_str).collect();
    let alphas: Vec<Value> = questions.ratings.iter().map(|units| {
        json!({ "nominal": alpha(units, Level::Nominal), "ordinal": alpha(units, Level::Ordinal) })
    }).collect();
    let vendi: Vec<f64> = questions
        .vectors
        .into_iter()
        .map(|vectors| {
            let embeddings: BTreeMap<usize, Embedding> = vectors
                .into_iter()
                .map(Embedding::normalised)
                .enumerate()
                .collect();
            vendi_score(&embeddings)
        })
        .collect();
    let mut answers =
        json!({ "alphas": alphas, "vendi": vendi, "ngrams": numbers(&CharacterNgrams, &prompts)? });
    if let Some(frozen) = std::env::args_os().nth(1) {
        let begun = Instant::now();
        let model = load(Path::new(&frozen))?;
        answers["load_seconds"] = json!(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        answers["minilm"] = json!(numbers(&model, &prompts)?);
        answers["embed_seconds"] = json!(begun.elapsed().as_secs_f64());
    }
    println!("{answers}");
    Ok(())
}

fn numbers(embed: &impl Embed, prompts: &[&str]) -> Result<Vec<Vec<f32>>> {
    Ok(embed
        .embed(prompts)?
        .iter()
        .map(|embedding| embedding.as_slice().to_vec())
        .collect())
}

fn load(frozen: &Path) -> Result<MiniLm> {
    let read = |name: &str| {
        let path = frozen.join(MODEL_DIRECTORY).join(name);
        std::fs::read(&path).with_context(|| format!("can't read `{}`", path.display()))
    };
    let [config, tokenizer, weights] = MODEL_FILES;
    Ok(MiniLm::load([
        &read(config)?,
        &read(tokenizer)?,
        &read(weights)?,
    ])?)
}
