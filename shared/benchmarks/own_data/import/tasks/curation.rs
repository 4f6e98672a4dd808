//! Imports `curation`: a test set of images or rows, and the set that participants begin with.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use crate::own_data::curation::{
    Board, Curation, ExampleKind, FixedNetwork, LABEL_BOOK, MAX_EXAMPLES, Model, Parameters, ReadImages,
    ReadRows, START, is_by_position, read_images, read_rows,
};
use crate::own_data::table::{FEATURES, LABEL, examples_file, features_file};
use crate::own_data::{EVAL, PUBLIC_EVAL, ScoreMetric, Scoring};
use dataperf::Benchmark;
use dataperf::Rejection;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::DatasetError;
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf::formats::delimited::Dialect;
use dataperf::list_names;
use dataperf_numerics::network::SIDES;

use crate::own_data::curation::numerals::zip_of_images;
use crate::own_data::import::document::{FILE, Members, Parts, Reader};
use crate::own_data::import::examples::csv_of;
use crate::own_data::import::features::{hash, sorted_note};
use crate::own_data::import::problems::{MAX_OF_FILE, Problems, within};
use crate::own_data::import::yaml::{At, Value};
use crate::own_data::import::{
    Draws, Evals, freeze_picture, in_turn, labelled_sets, members, parquet_set, participants_tables, read,
    refused, to_json, too_much_evidence,
};
use dataperf_datasets::labels::labelled::LabelledAt;
use dataperf_datasets::tables::table_file::is_table_file;
use dataperf_datasets::{DatasetWriter, Planned};
use dataperf_datasets::{Import, ImportError, KitRows, KitTable, Progress, Values};
use ndarray::Array2;

const KEYS: &[&str] = &["images", "start", "label_book"];
const BOARD_KEYS: &[&str] = &["name", "about", "max_examples", "max_bytes"];

/// The table of a set that participants have in the form of an artifact: its rows, or its images as grey levels. `None` if the data
/// set has no such set.
fn table(
    directory: &Path,
    manifest: &Manifest,
    path: &str,
    name: &str,
) -> Result<Option<KitTable>, FrozenError> {
    let parameters: Parameters = manifest.parameters()?;
    let file = match parameters.examples {
        ExampleKind::Images { .. } => format!("{path}.zip"),
        ExampleKind::Table { .. } => format!("{path}.csv"),
    };
    if !manifest.files.contains_key(&file) {
        return Ok(None);
    }
    let unreadable = |why: String| FrozenError::damaged(&file, why);
    let first = |rejection: &Rejection| {
        let reason = rejection.reasons().first();
        unreadable(reason.map_or_else(String::new, |reason| reason.message.clone()))
    };
    let bytes = fs::read(directory.join(&file)).map_err(|error| unreadable(error.to_string()))?;
    let classes = &parameters.scoring.classes;
    let (columns, numbers, n_features, dtype) = match parameters.examples {
        ExampleKind::Images { height, width } => {
            let read = read_images(&bytes, classes, height, width).map_err(|rejection| first(&rejection))?;
            let labels = read.classes.iter().map(|&class| classes[class].clone()).collect();
            let columns = vec![
                ("name", Values::Text(read.names)),
                ("label", Values::Text(labels)),
            ];
            let levels = read.pixels.into_iter().map(f64::from).collect();
            (columns, levels, height * width, Dtype::U8)
        }
        ExampleKind::Table { n_features } => {
            let read = read_rows(&bytes, &[]).map_err(|rejection| first(&rejection))?;
            let (labels, numbers): (Vec<String>, Vec<Vec<f64>>) = read.rows.into_iter().unzip();
            let columns = vec![("label", Values::Text(labels))];
            (columns, numbers.concat(), n_features, Dtype::F64)
        }
    };
    let n_rows = columns[0].1.len();
    let numbers = Array2::from_shape_vec((n_rows, n_features), numbers);
    let numbers = numbers.map_err(|error| unreadable(error.to_string()))?;
    Ok(Some(KitTable {
        name: name.to_owned(),
        columns: columns
            .into_iter()
            .map(|(column, values)| (column.to_owned(), values))
            .collect(),
        rows: Some(KitRows::Read(numbers, dtype)),
    }))
}

impl Import for Curation {
    const LAYOUT: &'static str = "a directory with `task.yaml`, which names the test set, of images in zips of `CLASS/name.png` or of rows, \
        and the set that participants begin with; `dataperf dataset init curation` writes one with explanations";

    fn guide(manifest: &Manifest) -> Result<String, FrozenError> {
        let guide = match manifest.parameters::<Parameters>()?.examples {
            ExampleKind::Images { .. } => include_str!("../../curation/kit/guide-images.md"),
            ExampleKind::Table { .. } => include_str!("../../curation/kit/guide-tables.md"),
        };
        Ok(guide.to_owned())
    }

    const STARTER: &'static str = concat!(
        include_str!("../../curation/kit/starter.py"),
        include_str!("../../kit/score.py")
    );

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let mut tables = Vec::new();
        for (path, name) in [(START, "start"), (LABEL_BOOK, "label_book")] {
            tables.extend(table(directory, manifest, path, name)?);
        }
        tables.extend(participants_tables(directory, manifest, &[])?);
        Ok(tables)
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        Ok(labelled_sets(manifest, &parameters.scoring.classes, &[START]))
    }

    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError> {
        let document = read(from)?;
        let mut problems = Problems::default();
        let mut reader = Reader {
            problems: &mut problems,
        };
        let members = members(&mut reader, &document, KEYS, from)?;
        let size = members.get("images").and_then(|node| size(&mut reader, node));
        let is_images = members.get("images").is_some();
        let parts = reader.parts(members, "curation", true);
        let model = if is_images {
            network(&mut reader, members)
        } else {
            learner(&mut reader, members, parts.as_ref())
        };
        let most = match &model {
            Some((Model::Learner(learner), _)) => learner.max_rows().min(MAX_EXAMPLES),
            _ => MAX_EXAMPLES,
        };
        let leaderboards = boards(&mut reader, members, most);
        let start = file(&mut reader, from, members, "start", true);
        let book = file(&mut reader, from, members, "label_book", false);
        progress.begin("reading own data", 0);
        let mut notes = Vec::new();
        let kind = match (&parts, size) {
            (Some(parts), Some(size)) => {
                let eval = file(&mut reader, from, members, "eval", true);
                let public = file(&mut reader, from, members, "public_eval", false);
                let sets = ImageSets { parts, size };
                sets.freeze(
                    [(EVAL, eval.as_ref()), (PUBLIC_EVAL, public.as_ref())],
                    start.as_ref(),
                    book.as_ref(),
                    writer,
                    &mut problems,
                )?;
                let kind = ExampleKind::Images {
                    height: size.0,
                    width: size.1,
                };
                Some((kind, Vec::new()))
            }
            (Some(parts), None) if !is_images => freeze_rows(
                &mut reader,
                from,
                members,
                (parts, model.as_ref()),
                start.as_ref(),
                book.as_ref(),
                writer,
                &mut notes,
            )?,
            _ => None,
        };
        let picture = parts.as_ref().and_then(|parts| parts.picture.as_ref());
        let picture = freeze_picture(from, picture, &mut problems, writer)?;
        if let (
            Some((Model::Learner(learner), _)),
            Some((ExampleKind::Table { n_features }, _)),
            Some(parts),
        ) = (&model, &kind, &parts)
        {
            for board in &leaderboards {
                // a line of the artifact has a label, a comma and a digit for each number, and its end
                let shortest = parts.classes.iter().map(String::len).min().unwrap_or_default();
                let least_bytes = (shortest + 1 + 2 * n_features) as u64;
                let n = (board.max_bytes / least_bytes).min(board.max_examples as u64) as usize;
                if let Err(why) = learner.check(n, *n_features, parts.classes.len()) {
                    problems.add(format!(
                        "the leaderboard `{}` allows {n} examples, and the model can't be trained on as many: {why}",
                        board.name
                    ));
                }
            }
        }
        let kind = kind.filter(|_| problems.is_empty());
        let (Some(parts), Some((model, seeds)), Some((examples, columns))) = (parts, model, kind) else {
            return Err(refused(from, problems));
        };
        for note in &notes {
            progress.note(note);
        }
        let mut about = parts.about;
        about.picture = picture;
        about.columns = columns;
        to_json(
            from,
            &Parameters {
                about,
                examples,
                scoring: Scoring {
                    classes: parts.classes,
                    model,
                    metric: parts.metric,
                    seeds,
                },
                leaderboards,
            },
        )
    }

    /// The start set, repeated up to the board's limits.
    async fn largest_artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let Some(board) = parameters
            .leaderboards
            .iter()
            .find(|board| board.name == leaderboard)
        else {
            return Ok(None);
        };
        let start = dataset
            .files()
            .whole(&format!("{START}.{}", ending(parameters.examples)))
            .await?;
        Ok(match parameters.examples {
            ExampleKind::Images { height, width } => {
                let Ok(images) = read_images(&start, &parameters.scoring.classes, height, width) else {
                    return Ok(None);
                };
                largest_zip(&images, (height, width), &parameters.scoring.classes, board)
            }
            ExampleKind::Table { .. } => Some(largest_csv(&start, board)),
        })
    }

    /// As many rows as the board allows, of large random numbers with random labels. A network takes as long for any images.
    async fn hardest_artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
    ) -> Result<Option<Vec<u8>>, DatasetError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let board = parameters
            .leaderboards
            .iter()
            .find(|board| board.name == leaderboard);
        Ok(match (board, parameters.examples) {
            (Some(board), ExampleKind::Table { n_features }) => {
                Some(hardest_csv(n_features, &parameters.scoring.classes, board))
            }
            _ => None,
        })
    }

    /// Converts a Parquet or Feather file to a CSV, and returns any other file as it is.
    fn artifact_of(name: &str, file: Vec<u8>) -> Result<Vec<u8>, Vec<String>> {
        if is_table_file(&file) {
            parquet_set::to_csv(name, file)
        } else {
            Ok(file)
        }
    }
}

fn ending(examples: ExampleKind) -> &'static str {
    match examples {
        ExampleKind::Images { .. } => "zip",
        ExampleKind::Table { .. } => "csv",
    }
}

fn largest_zip(
    images: &ReadImages,
    (height, width): (usize, usize),
    classes: &[String],
    board: &Board,
) -> Option<Vec<u8>> {
    let all = images.pixels.chunks_exact(height * width).zip(&images.classes);
    let all: Vec<(&str, &[u8])> = all
        .map(|(image, &class)| (classes[class].as_str(), image))
        .collect();
    let mut n = board.max_examples;
    loop {
        let repeated = all.iter().cycle().take(n).copied();
        let zip = zip_of_images(height as u32, width as u32, repeated).ok()?;
        if zip.len() as u64 <= board.max_bytes.min(Curation::MAX_ARTIFACT_BYTES) || n <= 1 {
            return Some(zip);
        }
        n = n * 9 / 10;
    }
}

/// A record as a line of a CSV.
fn line_of(record: &csv::ByteRecord) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // writing into memory does not fail
    drop(writer.write_byte_record(record));
    writer.into_inner().unwrap_or_default()
}

/// The records as lines of a CSV, taken from each label in turn, so that the first of them have all labels.
fn lines_in_turn(records: impl Iterator<Item = csv::ByteRecord>) -> Vec<Vec<u8>> {
    let mut by_label: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for record in records {
        let label = record.get(0).unwrap_or_default().trim_ascii().to_vec();
        by_label.entry(label).or_default().push(line_of(&record));
    }
    in_turn(by_label.into_values().collect())
}

fn largest_csv(start: &[u8], board: &Board) -> Vec<u8> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(start);
    let mut artifact = reader.byte_headers().map(line_of).unwrap_or_default();
    let rows = lines_in_turn(reader.byte_records().map_while(Result::ok));
    let limit = board.max_bytes.min(Curation::MAX_ARTIFACT_BYTES) as usize;
    for row in rows
        .iter()
        .cycle()
        .take(if rows.is_empty() { 0 } else { board.max_examples })
    {
        if artifact.len() + row.len() > limit {
            break;
        }
        artifact.extend_from_slice(row);
    }
    artifact
}

/// The largest number of [`hardest_csv`], which has few digits so that many rows fit into a file.
const LARGE: usize = 999;

fn hardest_csv(n_features: usize, classes: &[String], board: &Board) -> Vec<u8> {
    let line = |fields: Vec<String>| line_of(&csv::ByteRecord::from(fields));
    let names = (0..n_features).map(|column| format!("f{column}"));
    let mut artifact = line(std::iter::once("label".to_owned()).chain(names).collect());
    let limit = board.max_bytes.min(Curation::MAX_ARTIFACT_BYTES) as usize;
    let mut draws = Draws(0);
    for row in 0..board.max_examples {
        let class = draws.class_of(row, classes.len());
        let mut fields = vec![classes[class].clone()];
        fields
            .extend((0..n_features).map(|_| (draws.below(2 * LARGE + 1) as f64 - LARGE as f64).to_string()));
        let line = line(fields);
        if artifact.len() + line.len() > limit {
            break;
        }
        artifact.extend(line);
    }
    artifact
}

/// Reads the boards. One that says no number of examples allows as many as the model can be trained on.
fn boards(reader: &mut Reader<'_>, members: Members<'_>, max_rows: usize) -> Vec<Board> {
    let mut boards = Vec::new();
    for (name, about, board) in reader.boards(members, BOARD_KEYS) {
        let most = Curation::MAX_ARTIFACT_BYTES;
        let max_examples = board.get("max_examples").map_or(Some(max_rows as f64), |node| {
            reader.whole(node, "max_examples", 1.0, MAX_EXAMPLES as f64)
        });
        let max_bytes = board.get("max_bytes").map_or(Some(most as f64), |node| {
            reader.whole(node, "max_bytes", 1.0, most as f64)
        });
        boards.extend(
            max_examples
                .zip(max_bytes)
                .map(|(max_examples, max_bytes)| Board {
                    name,
                    about,
                    max_examples: max_examples as usize,
                    max_bytes: max_bytes as u64,
                }),
        );
    }
    boards
}

/// Height and width.
fn size(reader: &mut Reader<'_>, node: &crate::own_data::import::yaml::Node) -> Option<(usize, usize)> {
    let images = reader.object(node, "images", &["width", "height"])?;
    let (least, most) = (*SIDES.start() as f64, *SIDES.end() as f64);
    let mut side = |name: &str| {
        let node = reader.required(images, name)?;
        reader.whole(node, name, least, most)
    };
    let (height, width) = (side("height"), side("width"));
    Some((height? as usize, width? as usize))
}

/// Reads the only model for images, and its seed.
fn network(reader: &mut Reader<'_>, members: Members<'_>) -> Option<(Model, Vec<u32>)> {
    let node = reader.required(members, "model")?;
    let kind = match &node.value {
        Value::Map(_) => {
            let model = reader.object(node, "model", &["kind"])?;
            reader.required(model, "kind")?
        }
        _ => node,
    };
    reader.choice(kind, "model", &["network"])?;
    let seeds = reader.seeds(
        members,
        Some(&dataperf_numerics::learner::Learner::NearestCentroid {}),
    )?;
    Some((Model::Network(FixedNetwork::Network {}), seeds))
}

fn learner(
    reader: &mut Reader<'_>,
    members: Members<'_>,
    parts: Option<&Parts>,
) -> Option<(Model, Vec<u32>)> {
    let model = reader.learner(members, parts.map(|parts| parts.classes.len()));
    let seeds = reader.seeds(members, model.as_ref());
    Some((Model::Learner(model?), seeds?))
}

/// A file that the document names, with its bytes.
struct NamedFile {
    name: String,
    bytes: Vec<u8>,
}

fn file(
    reader: &mut Reader<'_>,
    from: &Path,
    members: Members<'_>,
    key: &str,
    is_required: bool,
) -> Option<NamedFile> {
    let node = if is_required {
        reader.required(members, key)?
    } else {
        members.get(key)?
    };
    let name = reader.text(node, key, 1000)?;
    match bytes(from, &name, node.at) {
        Ok(bytes) => Some(NamedFile { name, bytes }),
        Err(why) => {
            reader.problems.add(why);
            None
        }
    }
}

fn bytes(from: &Path, name: &str, at: At) -> Result<Vec<u8>, String> {
    let path = within(from, name).map_err(|why| format!("`{FILE}` {at}: {why}"))?;
    let about = |why: String| format!("`{name}`: {why}");
    let metadata = path.metadata().map_err(|error| about(error.to_string()))?;
    if !metadata.is_file() {
        return Err(about("it is not a file".into()));
    }
    let n_bytes = metadata.len();
    let limit = Curation::MAX_ARTIFACT_BYTES;
    if n_bytes > limit {
        return Err(about(format!("it has {n_bytes} bytes, the limit is {limit}")));
    }
    fs::read(&path).map_err(|error| about(error.to_string()))
}

/// Turns the reasons for refusing an artifact into sentences about the file called `name`.
fn sentences(name: &str, rejection: &Rejection) -> Vec<String> {
    let reasons = rejection.reasons().iter().take(MAX_OF_FILE);
    let mut sentences_one: Vec<String> = reasons
        .map(|reason| {
            format!(
                "`{name}`{}{}: {}",
                if reason.at.is_empty() { "" } else { " " },
                reason.at,
                reason.message
            )
        })
        .collect();
    let n_more = rejection.n_reasons().saturating_sub(MAX_OF_FILE);
    if n_more > 0 {
        sentences_one.push(format!("`{name}`: {n_more} more such problems"));
    }
    sentences_one
}

/// The sets of images of a contest.
struct ImageSets<'a> {
    parts: &'a Parts,
    size: (usize, usize),
}

impl ImageSets<'_> {
    fn read(&self, file: &NamedFile, problems: &mut Problems) -> Option<ReadImages> {
        let (height, width) = self.size;
        let read = read_images(&file.bytes, &self.parts.classes, height, width);
        read.map_err(|rejection| problems.extend(sentences(&file.name, &rejection)))
            .ok()
    }

    fn freeze(
        &self,
        evals: [(&str, Option<&NamedFile>); 2],
        start: Option<&NamedFile>,
        book: Option<&NamedFile>,
        writer: &mut DatasetWriter,
        problems: &mut Problems,
    ) -> Result<(), ImportError> {
        let n_pixels = self.size.0 * self.size.1;
        if self.parts.metric == ScoreMetric::WorstGroupAccuracy {
            problems.add(
                "`worst_group_accuracy` needs groups, and zips of images have none: choose another metric",
            );
        }
        let mut known: HashSet<Vec<u8>> = HashSet::new();
        for (table, file) in [(START, start), (LABEL_BOOK, book)] {
            let Some(file) = file else { continue };
            if let Some(images) = self.read(file, problems) {
                known.extend(images.pixels.chunks_exact(n_pixels).map(<[u8]>::to_vec));
                writer.bytes(&format!("{table}.zip"), &file.bytes)?;
            }
        }
        let mut hidden: Option<(&NamedFile, HashSet<Vec<u8>>)> = None;
        for (table, file) in evals {
            let Some(file) = file else { continue };
            let Some(images) = self.read(file, problems) else {
                continue;
            };
            let of_set: HashSet<Vec<u8>> = images.pixels.chunks_exact(n_pixels).map(<[u8]>::to_vec).collect();
            if let Some((eval, pixels)) = &hidden {
                let n_common = pixels.intersection(&of_set).count();
                if n_common > 0 && !self.parts.allow_duplicates {
                    problems.add(format!(
                        "{n_common} images of `{}` are also in `{}`, which participants don't see: remove \
                            them from one of the two, or write `allow_duplicates: true`",
                        file.name, eval.name
                    ));
                }
            } else if table == EVAL {
                hidden = Some((file, of_set));
            }
            let missing = (0..self.parts.classes.len()).filter(|class| !images.classes.contains(class));
            let missing: Vec<String> = missing
                .map(|class| format!("`{}`", self.parts.classes[class]))
                .collect();
            if !missing.is_empty() {
                problems.add(format!("`{}` has no image of {}", file.name, missing.join(", ")));
            }
            let n_known = images
                .pixels
                .chunks_exact(n_pixels)
                .filter(|image| known.contains(*image))
                .count();
            if n_known > 0 && !self.parts.allow_duplicates {
                problems.add(format!(
                    "{n_known} images of `{}` are also in the start set or the label book: remove them \
                        from one of the two, or write `allow_duplicates: true`",
                    file.name
                ));
            }
            let planned = Planned {
                name: FEATURES,
                dtype: Dtype::U8,
                shape: vec![images.classes.len(), n_pixels],
            };
            writer.npy(&features_file(table), planned, |out| out.write(&images.pixels))?;
            let labels = images.classes.iter().map(|&class| &self.parts.classes[class]);
            let lines = images
                .names
                .iter()
                .zip(labels)
                .map(|(id, label)| [id.as_str(), label.as_str()]);
            writer.bytes(&examples_file(table), &csv_of(&["id", "label"], lines))?;
        }
        Ok(())
    }
}

/// Freezes the sets of a contest on rows, and returns the kind of its examples and the names of the columns.
#[allow(clippy::too_many_arguments, reason = "each is a part of one document")]
fn freeze_rows(
    reader: &mut Reader<'_>,
    from: &Path,
    members: Members<'_>,
    (parts, model): (&Parts, Option<&(Model, Vec<u32>)>),
    start: Option<&NamedFile>,
    book: Option<&NamedFile>,
    writer: &mut DatasetWriter,
    notes: &mut Vec<String>,
) -> Result<Option<(ExampleKind, Vec<String>)>, ImportError> {
    let eval = reader
        .required(members, "eval")
        .and_then(|node| reader.source(node, "eval"));
    let public = members
        .get("public_eval")
        .and_then(|node| reader.source(node, "public_eval"));
    let Some(eval) = eval else { return Ok(None) };
    let evals = Evals::read(
        (&eval, public.as_ref()),
        from,
        (&parts.classes, &parts.metric),
        reader.problems,
    );
    let n_features = evals.hidden.as_ref().map(|eval| eval.scanned.n_features);
    // the names of the start set, if the test set has none
    let mut columns = evals.columns();
    let known = [false, true].map(|is_narrow| {
        let sets = evals.hidden.iter().chain(&evals.public);
        sets.map(|eval| eval.scanned.hashes_as(is_narrow).iter().copied().collect())
            .collect::<Vec<HashSet<u64>>>()
    });
    let is_known = |numbers: &[f64], is_rounded: bool| {
        let narrow: Vec<f64> = numbers.iter().map(|&number| f64::from(number as f32)).collect();
        let hashes = [hash(numbers), hash(&narrow)];
        let mut sets = evals.hidden.iter().chain(&evals.public).enumerate();
        sets.any(|(n, eval)| {
            let is_narrow = usize::from(is_rounded || eval.scanned.is_rounded);
            known[is_narrow][n].contains(&hashes[is_narrow])
        })
    };
    for (table, file) in [(START, start), (LABEL_BOOK, book)] {
        let Some(file) = file else { continue };
        let csv = match Curation::artifact_of(&file.name, file.bytes.clone()) {
            Ok(csv) => csv,
            Err(errors) => {
                reader.problems.extend(errors);
                continue;
            }
        };
        let read = match read_rows(&csv, &columns) {
            Ok(read) => read,
            Err(rejection) => {
                reader.problems.extend(sentences(&file.name, &rejection));
                continue;
            }
        };
        if read.is_arranged && is_by_position(&read.names) {
            notes.push(sorted_note(&file.name));
        }
        notes.extend(by_position(&file.name, &read.names, &columns));
        let is_distinct = read.names.iter().collect::<BTreeSet<_>>().len() == read.names.len();
        if columns.is_empty() && is_distinct && !is_by_position(&read.names) {
            columns.clone_from(&read.names);
        }
        let rows = &read.rows;
        reader
            .problems
            .extend(unknown_labels(&file.name, rows, &parts.classes));
        let width = rows.first().map_or(0, |(_, numbers)| numbers.len());
        if n_features.is_some_and(|n_features| n_features != width) {
            let n_features = n_features.unwrap_or_default();
            reader.problems.add(format!(
                "the rows of `{}` have {width} numbers, and those of the test set {n_features}",
                file.name
            ));
        }
        // a Parquet file may store 32-bit floats, of which its CSV has all digits
        let is_exact = |number: &f64| f64::from(*number as f32).total_cmp(number).is_eq();
        let is_rounded =
            is_table_file(&file.bytes) && rows.iter().all(|(_, numbers)| numbers.iter().all(is_exact));
        let in_both = rows.iter().filter(|(_, numbers)| is_known(numbers, is_rounded));
        let n_known = in_both.count();
        if n_known > 0 && !parts.allow_duplicates {
            reader.problems.add(format!(
                "{n_known} rows of `{}` are also in a test set: remove them from one of the two, or write \
                    `allow_duplicates: true`",
                file.name
            ));
        }
        writer.bytes(&format!("{table}.csv"), &frozen_csv(csv, &read))?;
    }
    evals.check_groups(reader.problems);
    if let Some((Model::Learner(learner), seeds)) = model {
        evals.check_numbers(&[], learner, reader.problems);
        let n_items = evals.hidden.as_ref().map_or(0, |eval| eval.scanned.n_rows);
        let too_much = too_much_evidence(seeds.len(), n_items, parts.classes.len());
        reader.problems.extend(too_much);
    }
    evals.check(&[], parts.allow_duplicates, reader.problems, notes);
    if reader.problems.is_empty() {
        notes.extend(crate::own_data::import::casts(
            evals.hidden.iter().chain(&evals.public),
        ));
        evals.freeze(writer)?;
    }
    Ok(n_features.map(|n_features| (ExampleKind::Table { n_features }, columns)))
}

/// A sentence about labels that are not classes.
fn unknown_labels(name: &str, rows: &[(String, Vec<f64>)], classes: &[String]) -> Option<String> {
    let labels = rows.iter().map(|(label, _)| label);
    let unknown: Vec<&String> = labels.filter(|label| !classes.contains(label)).collect();
    let distinct: BTreeSet<&String> = unknown.iter().copied().collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "`{name}`: {} rows have a label that is not a class: {}",
            unknown.len(),
            list_names(distinct)
        )
    })
}

/// A sentence if columns are matched with the contest's `columns` by position, because only one of the two has names.
fn by_position(name: &str, own: &[String], columns: &[String]) -> Option<String> {
    (columns.is_empty() != is_by_position(own)).then(|| {
        format!(
            "the columns of `{name}` and of the contest are matched by position, because one has no column names"
        )
    })
}

/// A table as participants get it: the file as it is, if it is a CSV in UTF-8, separated by commas, in the test set's order.
fn frozen_csv(csv: Vec<u8>, read: &ReadRows) -> Vec<u8> {
    let is_plain = Dialect::detect(&csv).is_ok_and(|dialect| dialect.is_plain());
    if is_plain && !read.is_arranged && std::str::from_utf8(&csv).is_ok() {
        csv
    } else {
        csv_of_rows(&read.names, &read.rows)
    }
}

/// Rows as a CSV. Numbers are written so that reading them gives the same 64-bit floats.
fn csv_of_rows(names: &[String], rows: &[(String, Vec<f64>)]) -> Vec<u8> {
    let header: Vec<&str> = std::iter::once(LABEL)
        .chain(names.iter().map(String::as_str))
        .collect();
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|(label, numbers)| {
            std::iter::once(label.clone())
                .chain(numbers.iter().map(f64::to_string))
                .collect()
        })
        .collect();
    csv_of(&header, lines.iter().map(|line| line.iter().map(String::as_str)))
}
