//! The network on the demo's numerals, for the peer test and for the table in docs/models.md.
//!
//! `curation sets DIRECTORY` writes the sets as plain bytes, `curation train DIRECTORY HEIGHT WIDTH CLASSES SEED [STEPS]` trains
//! on those there, `curation table SEEDS` prints the baselines' accuracies, and `curation clean` trains on as many clean numerals
//! as there may be.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use dataperf::progress::Silent;
use dataperf_benchmarks::own_data::curation::methods::{Images, augmented, balanced, doubts};
use dataperf_benchmarks::own_data::curation::numerals::{
    HIDDEN_PER_CLASS, HIDDEN_SEED, NUMERALS, Numeral, SIDE, START_SEED, clean_set, start_set,
};
use dataperf_numerics::network::{Network, Training, train};

/// Most images of a training set.
const MAX_IMAGES: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["sets", directory] => write_sets(Path::new(directory)),
        [
            "train",
            directory,
            height,
            width,
            n_classes,
            seed,
            ref n_steps @ ..,
        ] => {
            let network = Network {
                height: height.parse()?,
                width: width.parse()?,
                n_classes: n_classes.parse()?,
                seed: seed.parse()?,
            };
            let n_steps = n_steps.first().map(|n| n.parse()).transpose()?;
            write_trained(Path::new(directory), &network, n_steps)
        }
        ["clean"] => print_clean(),
        ["table", n_seeds] => print_table(n_seeds.parse()?),
        _ => Err("say `sets`, `train`, `table` or `clean`: the comment above this program says more".into()),
    }
}

fn images(set: &[Numeral]) -> Images {
    Images {
        height: SIDE,
        width: SIDE,
        n_classes: NUMERALS.len(),
        pixels: set.iter().flat_map(|numeral| numeral.pixels.clone()).collect(),
        classes: set.iter().map(|numeral| numeral.class).collect(),
    }
}

fn write_sets(directory: &Path) -> Result<(), Box<dyn Error>> {
    for (name, set) in [
        ("start", start_set(START_SEED)),
        ("hidden", clean_set(500, HIDDEN_SEED)),
    ] {
        let set = images(&set);
        fs::write(directory.join(format!("{name}.pixels")), &set.pixels)?;
        fs::write(directory.join(format!("{name}.classes")), bytes(&set.classes))?;
    }
    Ok(())
}

fn bytes(classes: &[usize]) -> Vec<u8> {
    classes.iter().map(|&class| class as u8).collect()
}

/// Reads `pixels`, `labels` and `unseen`; writes `parameters` and, of `unseen`, `predictions`; says how many steps there are in all.
fn write_trained(directory: &Path, network: &Network, n_steps: Option<usize>) -> Result<(), Box<dyn Error>> {
    let pixels = fs::read(directory.join("pixels"))?;
    let labels = fs::read(directory.join("labels"))?;
    let classes: Vec<usize> = labels.into_iter().map(usize::from).collect();
    let mut training = Training::new(&pixels, &classes, network)?;
    let all = network.n_steps(classes.len());
    for _ in 0..n_steps.unwrap_or(all) {
        training.step();
    }
    let trained = training.finish();
    let parameters = trained.parameters().into_iter().flat_map(f32::to_le_bytes);
    fs::write(directory.join("parameters"), parameters.collect::<Vec<_>>())?;
    let unseen = fs::read(directory.join("unseen"))?;
    fs::write(directory.join("predictions"), trained.predict(&unseen))?;
    println!("{all}");
    Ok(())
}

/// Accuracies in percent of each baseline, seed by seed, then their mean and standard deviation.
fn print_table(n_seeds: u32) -> Result<(), Box<dyn Error>> {
    let start = images(&start_set(START_SEED));
    let hidden = images(&clean_set(HIDDEN_PER_CLASS, HIDDEN_SEED));
    let mut table: Vec<(&str, Vec<f64>)> = Vec::new();
    for seed in 0..n_seeds {
        let doubts = doubts(&start, seed, &Silent)?;
        let selected = doubts.selected(&start);
        let sets = [
            ("as it is", start.clone()),
            ("relabelled", doubts.relabelled(&start)),
            ("balanced", balanced(&start, MAX_IMAGES, seed)),
            ("augmented", augmented(&start, MAX_IMAGES, seed)),
            ("selected", selected.clone()),
            ("selected, augmented", augmented(&selected, MAX_IMAGES, seed)),
            (
                "selected, balanced, augmented",
                augmented(&balanced(&selected, MAX_IMAGES, seed), MAX_IMAGES, seed),
            ),
        ];
        table.resize_with(sets.len(), || ("", Vec::new()));
        for ((name, accuracies), (set_name, set)) in table.iter_mut().zip(&sets) {
            *name = set_name;
            accuracies.push(accuracy(set, &hidden, seed)?);
            println!(
                "seed {seed}, {name}: {} images, {:.2}",
                set.classes.len(),
                accuracies[seed as usize]
            );
        }
    }
    for (name, accuracies) in table {
        let mean = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
        let squares: f64 = accuracies.iter().map(|accuracy| (accuracy - mean).powi(2)).sum();
        let deviation = (squares / (accuracies.len() as f64 - 1.0)).sqrt();
        println!("| {name} | {mean:.1} ± {deviation:.1} |");
    }
    Ok(())
}

/// How long a training takes at the most, and what can be reached with the best of data.
fn print_clean() -> Result<(), Box<dyn Error>> {
    let set = images(&clean_set(MAX_IMAGES / NUMERALS.len(), 5));
    let began = Instant::now();
    let accuracy = accuracy(&set, &images(&clean_set(HIDDEN_PER_CLASS, HIDDEN_SEED)), 0)?;
    println!(
        "{MAX_IMAGES} images: {:.1} s, {accuracy:.2} %",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn accuracy(set: &Images, hidden: &Images, seed: u32) -> Result<f64, Box<dyn Error>> {
    let network = Network {
        height: set.height,
        width: set.width,
        n_classes: set.n_classes,
        seed,
    };
    let predicted = train(&set.pixels, &set.classes, &network, &mut || {})?.predict(&hidden.pixels);
    let pairs = predicted.iter().zip(&hidden.classes);
    let n_right = pairs
        .filter(|(predicted, class)| usize::from(**predicted) == **class)
        .count();
    Ok(100.0 * n_right as f64 / hidden.classes.len() as f64)
}
