//! A language in the public challenge's layout, small and made up, for tests that change it before it is imported.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dataperf::Digest;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_datasets::{ImportError, Silent, import};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

/// Clips of each word in each split.
pub(crate) const CLIPS_A_WORD: usize = 4;
pub(crate) const TARGETS: [&str; 2] = ["job", "route"];
const NONTARGETS: [&str; 2] = ["about", "house"];

/// The content of one parquet file.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) ids: Vec<String>,
    pub(crate) vectors: Vec<Option<Vec<f64>>>,
    pub(crate) id_column: &'static str,
    /// 32-bit floats as the challenge has them, or 64-bit ones.
    pub(crate) is_wide: bool,
}

/// The training or the test half.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    folder: &'static str,
    list: &'static str,
    pub(crate) targets: BTreeMap<String, Vec<String>>,
    pub(crate) nontargets: Vec<String>,
    pub(crate) tables: BTreeMap<String, Table>,
}

/// One language.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) train: Split,
    pub(crate) eval: Split,
}

impl Default for Layout {
    fn default() -> Self {
        Self::new(6)
    }
}

impl Split {
    fn new(folder: &'static str, list: &'static str, first: usize, width: usize) -> Self {
        let mut split = Self {
            folder,
            list,
            targets: BTreeMap::new(),
            nontargets: Vec::new(),
            tables: BTreeMap::new(),
        };
        for (word_idx, word) in TARGETS.into_iter().chain(NONTARGETS).enumerate() {
            let ids: Vec<String> = (0..CLIPS_A_WORD)
                .map(|n| format!("{word}/common_voice_en_{:03}.wav", first + n))
                .collect();
            let vectors = (0..CLIPS_A_WORD)
                .map(|n| Some(vector(word_idx, first + n, width)))
                .collect();
            if TARGETS.contains(&word) {
                split.targets.insert(word.into(), ids.clone());
            } else {
                split.nontargets.extend(ids.iter().cloned());
            }
            split.tables.insert(
                word.into(),
                Table {
                    ids,
                    vectors,
                    id_column: "clip_id",
                    is_wide: false,
                },
            );
        }
        split
    }

    pub(crate) fn table(&mut self, word: &str) -> &mut Table {
        self.tables.get_mut(word).unwrap()
    }

    fn write(&self, root: &Path) {
        let lists = json!({ "targets": self.targets, "nontargets": self.nontargets });
        fs::write(root.join(self.list), lists.to_string()).unwrap(); // JSON is YAML
        fs::create_dir_all(root.join(self.folder)).unwrap();
        for (word, table) in &self.tables {
            table.write(&root.join(self.folder).join(format!("{word}.parquet")));
        }
    }
}

impl Table {
    fn write(&self, path: &Path) {
        let (id_column, number) = (self.id_column, if self.is_wide { "double" } else { "float" });
        let schema = format!(
            "message schema {{ required binary {id_column} (STRING);
               optional group mswc_embedding_vector (LIST) {{
                 repeated group list {{ optional {number} element; }} }} }}"
        );
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let ids: Vec<ByteArray> = self.ids.iter().map(|id| id.as_str().into()).collect();
        column
            .typed::<ByteArrayType>()
            .write_batch(&ids, None, None)
            .unwrap();
        column.close().unwrap();
        let (mut numbers, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.vectors {
            let row = row.as_deref();
            // a null, an empty list, or a number
            let level = row.map_or(0, |row| if row.is_empty() { 1 } else { 3 });
            let n_levels = row.map_or(1, |row| row.len().max(1));
            definitions.extend(std::iter::repeat_n(level, n_levels));
            repetitions.extend((0..n_levels).map(|idx| i16::from(idx > 0)));
            numbers.extend(row.unwrap_or_default());
        }
        let mut column = rows.next_column().unwrap().unwrap();
        let levels = (Some(&definitions[..]), Some(&repetitions[..]));
        if self.is_wide {
            column
                .typed::<DoubleType>()
                .write_batch(&numbers, levels.0, levels.1)
                .unwrap();
        } else {
            let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
            column
                .typed::<FloatType>()
                .write_batch(&numbers, levels.0, levels.1)
                .unwrap();
        }
        column.close().unwrap();
        rows.close().unwrap();
        writer.close().unwrap();
    }
}

/// A word's centre and a clip's own noise, from a small congruential generator; 32-bit floats in 64 bits.
fn vector(word_idx: usize, clip_idx: usize, width: usize) -> Vec<f64> {
    let mut state = (word_idx as u64 + 1) * 7_919 + clip_idx as u64 * 104_729;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from((state >> 40) as f32 / (1 << 24) as f32)
    };
    (0..width)
        .map(|col| f64::from((next() + if col % 4 == word_idx { 1.0 } else { 0.0 }) as f32))
        .collect()
}

impl Layout {
    /// Of vectors `width` numbers long.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            train: Split::new("train_embeddings", "allowed_training_set.yaml", 0, width),
            eval: Split::new("eval_embeddings", "eval.yaml", 500, width),
        }
    }

    /// Makes the test set `n` times as large.
    pub(crate) fn repeat_eval(&mut self, n: usize) {
        let repeated = |ids: &[String]| {
            (0..n)
                .flat_map(|n| ids.iter().map(move |id| format!("{id}.{n}")))
                .collect()
        };
        for ids in self.eval.targets.values_mut() {
            *ids = repeated(ids);
        }
        self.eval.nontargets = repeated(&self.eval.nontargets);
        for table in self.eval.tables.values_mut() {
            table.ids = repeated(&table.ids);
            table.vectors = vec![table.vectors.clone(); n].concat();
        }
    }

    /// A submission to `en-25` that obeys the rules.
    pub(crate) fn submission(&self) -> Vec<u8> {
        let chosen = |ids: &[String]| ids[..2].to_vec();
        let targets: BTreeMap<_, _> = self
            .train
            .targets
            .iter()
            .map(|(word, ids)| (word, chosen(ids)))
            .collect();
        json!({ "targets": targets, "nontargets": chosen(&self.train.nontargets) })
            .to_string()
            .into_bytes()
    }

    /// Writes the layout below `scratch` and gives its directory.
    pub(crate) fn write(&self, scratch: &Path) -> PathBuf {
        let root = scratch.join("dataperf_en_data");
        fs::create_dir_all(&root).unwrap();
        self.train.write(&root);
        self.eval.write(&root);
        root
    }

    /// Writes the layout below `scratch` and imports it into `out`.
    pub(crate) fn import(&self, scratch: &Path, out: &Path) -> Result<Digest, ImportError> {
        import::<SpeechSelection>(&self.write(scratch), out, &Silent)
    }
}

/// All paths below a directory, relative to it.
pub(crate) fn everything_in(directory: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            paths.extend(
                everything_in(&entry.path())
                    .into_iter()
                    .map(|path| format!("{name}/{path}")),
            );
        }
        paths.push(name);
    }
    paths.sort();
    paths
}

/// The manifest of a frozen data set.
pub(crate) fn manifest(directory: &Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("manifest.json")).unwrap()).unwrap()
}
