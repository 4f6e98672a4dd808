//! The demo's contest of `curation`, as an organizer would write it: a document and three sets of images.

use std::fs;
use std::io::Result;
use std::path::Path;

use super::{
    BOOK_PER_CLASS, BOOK_SEED, HIDDEN_PER_CLASS, HIDDEN_SEED, NUMERALS, Numeral, SIDE, START_SEED, clean_set,
    start_set, zip_of_images,
};

const DOCUMENT: &str = "\
schema: 1
task: curation
title: Roman numerals
description: |
  The network is fixed. A third of the start set is faulty, and some numerals are rare in it: make a better training set of at most
  10,000 images. After the Data-Centric AI competition; the images are drawn by a program.
unit: images
digits: 4
leaderboards:
  - {name: numerals, about: \"Roman numerals: at most 10,000 images; accuracy\", max_examples: 10000}
classes: [i, ii, iii, iv, v, vi, vii, viii, ix, x]
images: {width: 32, height: 32}
start: start.zip
label_book: book.zip
eval: eval.zip
model: network
metric: accuracy
";

/// Writes the contest's folder, which `dataperf dataset import curation` reads: `task.yaml`, the start set, the label book and the
/// hidden set.
///
/// # Errors
/// If a file can't be written.
pub fn write_contest(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("task.yaml"), DOCUMENT)?;
    for (name, set) in [
        ("start.zip", start_set(START_SEED)),
        ("book.zip", clean_set(BOOK_PER_CLASS, BOOK_SEED)),
        ("eval.zip", clean_set(HIDDEN_PER_CLASS, HIDDEN_SEED)),
    ] {
        fs::write(folder.join(name), zipped(&set)?)?;
    }
    Ok(())
}

fn zipped(set: &[Numeral]) -> Result<Vec<u8>> {
    let images = set
        .iter()
        .map(|numeral| (NUMERALS[numeral.class], &numeral.pixels[..]));
    zip_of_images(SIDE as u32, SIDE as u32, images)
}
