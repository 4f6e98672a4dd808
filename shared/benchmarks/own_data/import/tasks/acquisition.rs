//! Imports `acquisition`: sellers with their prices, a budget and the buyer's test set.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::own_data::Board;
use crate::own_data::acquisition::{
    Acquisition, MARKET_FILE, N_TRIALS, Parameters, SEED, SELLERS, Seller, summary_file,
};
use crate::own_data::table::{FEATURES, examples_file, features_file};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::DatasetError;
use dataperf::offer;
use serde_json::json;

use crate::data_acquisition::seller_summary::Features;
use crate::own_data::import::document::{FILE, Members, Reader};
use crate::own_data::import::examples::{Examples, ExpectedColumns, csv_of};
use crate::own_data::import::features::{Form, freeze_all};
use crate::own_data::import::problems::{Problems, RowProblems, within};
use crate::own_data::import::source::{Files, Opened, Source};
use crate::own_data::import::yaml::{Node, Value};
use crate::own_data::import::{
    Evals, freeze_picture, labelled_sets, members, participants_tables, read, refused, to_json,
    too_much_evidence,
};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf_datasets::DatasetWriter;
use dataperf_datasets::labels::labelled::LabelledAt;
use dataperf_datasets::{Import, ImportError, KitTable, Progress, Values};

const KEYS: &[&str] = &["sellers", "prices", "budget", "trials", "seed"];
const BOARD_KEYS: &[&str] = &["name", "about"];
const LABELLED: ExpectedColumns = ExpectedColumns {
    required: &["label"],
    optional: &["id"],
};
const PRICED: ExpectedColumns = ExpectedColumns {
    required: &["seller", "price"],
    optional: &[],
};
/// The largest price and budget: costs of many rows stay finite.
const MAX_AMOUNT: f64 = 1e100;
/// The most sellers in a market.
const MAX_SELLERS: usize = 1000;
/// The most training sets that may be sampled.
const MAX_TRIALS: f64 = 100.0;
/// The number of a seller's rows that its public summary shows.
const N_SAMPLES: usize = 5;

impl Import for Acquisition {
    const LAYOUT: &'static str = "a directory with `task.yaml`, which names the sellers' files, their prices, the budget and the eval \
        set; `dataperf dataset init acquisition` writes one with explanations";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("../../acquisition/kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("../../acquisition/kit/starter.py");

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let sellers = manifest.parameters::<Parameters>()?.sellers;
        let names = sellers.iter().map(|seller| seller.name.clone()).collect();
        let n_rows = sellers
            .iter()
            .map(|seller| i64::try_from(seller.n_rows).unwrap_or(i64::MAX));
        let n_rows = n_rows.collect();
        let prices = sellers.iter().map(|seller| seller.price).collect();
        let mut tables = vec![KitTable {
            name: "sellers".to_owned(),
            columns: vec![
                ("seller".to_owned(), Values::Text(names)),
                ("n_rows".to_owned(), Values::Whole(n_rows)),
                ("price".to_owned(), Values::Real(prices)),
            ],
            rows: None,
        }];
        tables.extend(participants_tables(directory, manifest, &[])?);
        Ok(tables)
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        Ok(labelled_sets(manifest, &parameters.scoring.classes, &[SELLERS]))
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
        let positive = |number: f64| number > 0.0 && number <= MAX_AMOUNT;
        let budget = reader
            .required(members, "budget")
            .and_then(|node| reader.number(node, "budget", "above 0 and at most 1e100", positive));
        let n_trials = members.get("trials").map_or(Some(N_TRIALS as f64), |node| {
            reader.whole(node, "trials", 1.0, MAX_TRIALS)
        });
        let seed = members.get("seed").map_or(Some(SEED.into()), |node| {
            reader.whole(node, "seed", 0.0, u32::MAX.into())
        });
        let sources = reader
            .required(members, "sellers")
            .map(|node| sellers(&mut reader, from, node));
        let sources = sources.unwrap_or_default();
        let prices = prices(&mut reader, from, members, &sources);
        let boards = reader.boards(members, BOARD_KEYS).into_iter();
        let leaderboards: Vec<Board> = boards.map(|(name, about, _)| Board { name, about }).collect();
        let mut common = reader.common(members, "acquisition", true);
        progress.begin("reading own data", 0);
        let evals = Evals::open(from, common.as_mut(), &mut problems);
        let eval = evals.as_ref().and_then(Evals::named);
        let mut opened: Vec<(&String, Opened)> = Vec::new();
        for (name, source) in &sources {
            // by the names of the first seller with names, if the test set has none
            let mut all = eval.into_iter().chain(opened.iter().map(|(_, opened)| opened));
            let named = all.find(|opened| opened.has_names).or(eval);
            let seller = source.open(from, &LABELLED, named, &mut problems);
            opened.extend(seller.map(|seller| (name, seller)));
        }
        let (Some(mut common), Some(evals)) = (common, evals) else {
            return Err(refused(from, problems));
        };
        let mut notes = Vec::new();
        let sellers: Vec<(&String, &Opened)> = opened.iter().map(|(name, opened)| (*name, opened)).collect();
        check_sellers(&sellers, &common.scoring.classes, &mut problems);
        let training: Vec<&Opened> = sellers.iter().map(|(_, opened)| *opened).collect();
        evals.check_groups(&mut problems);
        evals.check_numbers(&training, &common.scoring.model, &mut problems);
        let n_items = evals.hidden.as_ref().map_or(0, |eval| eval.scanned.n_rows);
        let n_classes = common.scoring.classes.len();
        problems.extend(n_trials.and_then(|n| too_much_evidence(n as usize, n_items, n_classes)));
        evals.check(&training, common.allow_duplicates, &mut problems, &mut notes);
        let listed: Vec<Seller> = sellers
            .iter()
            .map(|(name, opened)| Seller {
                name: (*name).clone(),
                n_rows: opened.scanned.n_rows,
                price: prices.get(*name).copied().unwrap_or(0.0),
            })
            .collect();
        let cheapest = listed
            .iter()
            .map(|seller| seller.price / seller.n_rows as f64)
            .fold(f64::INFINITY, f64::min);
        if let Some(budget) = budget.filter(|&budget| problems.is_empty() && budget < cheapest) {
            problems.add(format!(
                "the budget {budget} buys nothing, because the cheapest example costs {cheapest}: raise it"
            ));
        }
        common.about.picture = freeze_picture(from, common.picture.as_ref(), &mut problems, writer)?;
        if !problems.is_empty() {
            return Err(refused(from, problems));
        }
        evals.tell(&training, &notes, progress);
        let files: Vec<_> = training
            .iter()
            .map(|opened| (&opened.features, &opened.scanned))
            .collect();
        freeze_all(&files, SELLERS, writer)?;
        writer.row_digests(&features_file(SELLERS), FEATURES)?;
        writer.bytes(&examples_file(SELLERS), &labels(&training))?;
        let parameters = Parameters {
            about: common.about.clone(),
            scoring: common.scoring.clone(),
            budget: budget.unwrap_or_default(),
            n_trials: n_trials.unwrap_or_default() as usize,
            seed: seed.unwrap_or_default() as u32,
            sellers: listed,
            leaderboards,
        };
        let rows = training.iter().map(|opened| SellersRows::read(from, opened));
        freeze_summaries(&parameters, rows, from, writer)?;
        evals.freeze(writer)?;
        to_json(from, &parameters)
    }

    /// The counts that the budget buys, beginning with the cheapest seller.
    async fn largest_artifact(dataset: &Dataset<Self>, _: &str) -> Result<Option<Vec<u8>>, DatasetError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let mut sellers: Vec<&Seller> = parameters.sellers.iter().collect();
        sellers.sort_by(|a, b| (a.price / a.n_rows as f64).total_cmp(&(b.price / b.n_rows as f64)));
        let cheapest = sellers.first().copied();
        let mut left = parameters.budget * (1.0 - 1e-9); // sums of floats may be over the budget by their last digit
        let mut counts = BTreeMap::new();
        for seller in sellers {
            let price = seller.price / seller.n_rows as f64;
            let affordable = if price > 0.0 {
                (left / price).floor()
            } else {
                seller.n_rows as f64
            };
            let count = affordable.min(seller.n_rows as f64);
            left -= count * price;
            counts.insert(&seller.name, count as usize);
        }
        if counts.values().all(|&count| count == 0) {
            // the budget is the price of the cheapest row
            counts.extend(cheapest.map(|seller| (&seller.name, 1)));
        }
        Ok(Some(json!({ "counts": counts }).to_string().into_bytes()))
    }
}

/// The source of each seller by its name, in the document's order: from a mapping, a list, or a folder with a file or folder for
/// each.
fn sellers(reader: &mut Reader<'_>, from: &Path, node: &Node) -> Vec<(String, Source)> {
    let mut sellers: Vec<(String, Source)> = Vec::new();
    match &node.value {
        Value::Text(folder) => match within(from, folder).and_then(|path| in_folder(folder, &path)) {
            Ok(read) => sellers.extend(
                read.into_iter()
                    .map(|(name, files)| (name, Source { at: node.at, files })),
            ),
            Err(why) => reader.wrong(node.at, why),
        },
        Value::List(list) => {
            for item in list {
                let Some(seller) = reader.object(
                    item,
                    "sellers",
                    &["name", "price", "features", "examples", "table"],
                ) else {
                    continue;
                };
                let Some(name) = reader
                    .required(seller, "name")
                    .and_then(|node| reader.text(node, "name", 120))
                else {
                    continue;
                };
                let mut text = |key: &str| seller.get(key).and_then(|node| reader.text(node, key, 1000));
                let files = match (text("table"), text("features"), text("examples")) {
                    (Some(table), None, None) => Some(Files::Table(table)),
                    (None, Some(features), Some(examples)) => Some(Files::Pair { features, examples }),
                    _ => None,
                };
                match files {
                    Some(files) => sellers.push((name, Source { at: item.at, files })),
                    None => reader.wrong(
                        item.at,
                        format!("the seller `{name}` needs `table`, or `features` and `examples`"),
                    ),
                }
            }
        }
        Value::Map(_) => {
            for (name, node) in reader.members(node, "sellers").iter().flat_map(Members::iter) {
                sellers.extend(reader.source(node, name).map(|source| (name.to_owned(), source)));
            }
        }
        _ => reader.wrong(node.at, "`sellers` is a folder, or a mapping of names to files"),
    }
    let is_empty = match &node.value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        _ => false,
    };
    if is_empty {
        reader.wrong(node.at, "`sellers` names no seller: give at least one");
    }
    if sellers.len() > MAX_SELLERS {
        reader.wrong(
            node.at,
            format!("there are {} sellers, the limit is {MAX_SELLERS}", sellers.len()),
        );
    }
    let mut names: Vec<&String> = sellers.iter().map(|(name, _)| name).collect();
    names.sort();
    let twice = names
        .windows(2)
        .find(|two| two[0] == two[1])
        .map(|two| two[0].clone());
    if let Some(name) = twice {
        reader.wrong(node.at, format!("the seller `{name}` appears twice: rename one"));
    }
    sellers
}

/// The sellers in a folder: one for each table, for each `.npy` file with a CSV of the same name, and for each folder with such
/// files.
fn in_folder(folder: &str, path: &Path) -> Result<Vec<(String, Files)>, String> {
    let unlisted = |error: std::io::Error| format!("`{folder}` can't be listed: {error}");
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(unlisted)? {
        let name = entry.map_err(unlisted)?.file_name();
        let name = name.into_string().map_err(|name| {
            format!(
                "`{folder}` has a file whose name is not UTF-8, `{}`: rename it",
                name.display()
            )
        })?;
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    let mut by_seller: BTreeMap<&str, Vec<(&String, Option<Form>)>> = BTreeMap::new();
    for name in &names {
        let file = if path.join(name).is_dir() {
            Some((name.as_str(), None))
        } else {
            seller_file(name).map(|(stem, form)| (stem, Some(form)))
        };
        if let Some((seller, form)) = file {
            by_seller.entry(seller).or_default().push((name, form));
        }
    }
    let inner = |name: &str| format!("{folder}/{name}");
    let mut sellers = Vec::new();
    for (seller, mut found) in by_seller {
        // features before their examples
        found.sort_by_key(|(_, form)| *form == Some(Form::Csv));
        let files = match found[..] {
            [(name, None)] => Files::Pair {
                features: inner(&format!("{name}/features.npy")),
                examples: inner(&format!("{name}/examples.csv")),
            },
            [(name, Some(Form::Npy | Form::Npz))] => Files::Pair {
                features: inner(name),
                examples: inner(&format!("{seller}.csv")),
            },
            [(name, Some(Form::Csv | Form::Table))] => Files::Table(inner(name)),
            [
                (features, Some(Form::Npy | Form::Npz)),
                (examples, Some(Form::Csv)),
            ] => Files::Pair {
                features: inner(features),
                examples: inner(examples),
            },
            _ => {
                return Err(format!(
                    "`{folder}` has the seller `{seller}` in more than one form: keep one of them, a folder, a \
                     table, or a `.npy` with its `.csv`"
                ));
            }
        };
        sellers.push((seller.to_owned(), files));
    }
    if sellers.is_empty() {
        return Err(format!(
            "`{folder}` has no seller: put a table `NAME.parquet` or `NAME.csv`, or `NAME.npy` and `NAME.csv`, there for each"
        ));
    }
    Ok(sellers)
}

/// The name of a seller's file without its ending, and the form of the file. `None` for other files, such as `README.txt`.
fn seller_file(name: &str) -> Option<(&str, Form)> {
    let path = Path::new(name);
    let is_text = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("txt"));
    let form = Form::from_path(path).filter(|_| !is_text)?;
    Some((path.file_stem()?.to_str()?, form))
}

/// The price of each seller.
fn prices(
    reader: &mut Reader<'_>,
    from: &Path,
    members: Members<'_>,
    sellers: &[(String, Source)],
) -> BTreeMap<String, f64> {
    let names: Vec<&str> = sellers.iter().map(|(name, _)| name.as_str()).collect();
    let mut prices = BTreeMap::new();
    let is_price = |price: f64| (0.0..=MAX_AMOUNT).contains(&price);
    // the names with a price, right or wrong; `None` if they can't be read
    let mut given = Some(BTreeSet::new());
    if let Some(Value::List(list)) = members.get("sellers").map(|node| &node.value) {
        for item in list {
            // items that are no sellers have been noted before
            let Value::Map(_) = item.value else { continue };
            let Some(seller) = reader.members(item, "sellers") else {
                continue;
            };
            let name = seller.get("name").and_then(|node| reader.text(node, "name", 120));
            if let (Some(given), Some(name), Some(_)) = (&mut given, &name, seller.get("price")) {
                given.insert(name.clone());
            }
            let price = seller
                .get("price")
                .and_then(|node| reader.number(node, "price", "from 0 to 1e100", is_price));
            prices.extend(name.zip(price));
        }
    }
    match members.get("prices") {
        None => {}
        Some(node) if matches!(node.value, Value::Text(_)) => {
            let text = reader.text(node, "prices", 1000).unwrap_or_default();
            let read = within(from, &text)
                .map_err(|why| vec![why])
                .and_then(|path| Examples::read(&text, &path, &PRICED));
            match read {
                Ok(table) => {
                    let mut problems = RowProblems::default();
                    for (row, (name, price)) in table
                        .required("seller")
                        .iter()
                        .zip(table.required("price"))
                        .enumerate()
                    {
                        if let Some(given) = &mut given {
                            given.insert(name.clone());
                        }
                        match table.number(price).filter(|&price| is_price(price)) {
                            Some(price) => {
                                let before = prices.insert(name.clone(), price);
                                if let Some(before) = before.filter(|before| before.total_cmp(&price).is_ne())
                                {
                                    problems.add(|| {
                                        format!(
                                            "{}: `{name}` has the price {price} here and {before} in an \
                                             earlier row: keep one",
                                            table.place(row)
                                        )
                                    });
                                }
                            }
                            None => problems.add(|| {
                                format!(
                                    "{}: `{price}` is not a price: give a number from 0 to 1e100",
                                    table.place(row)
                                )
                            }),
                        }
                    }
                    reader.problems.extend(problems.report(&table.name));
                    reader.problems.extend(table.check_numbers());
                }
                Err(errors) => {
                    given = None;
                    reader.problems.extend(errors);
                }
            }
        }
        Some(node) => {
            for (name, node) in reader.members(node, "prices").iter().flat_map(Members::iter) {
                if let Some(given) = &mut given {
                    given.insert(name.to_owned());
                }
                let Some(price) = reader.number(node, name, "from 0 to 1e100", is_price) else {
                    continue;
                };
                let before = prices.insert(name.to_owned(), price);
                if let Some(before) = before.filter(|before| before.total_cmp(&price).is_ne()) {
                    let why =
                        format!("`{name}` has the price {price} here and {before} before: keep one of them");
                    reader.wrong(node.at, why);
                }
            }
        }
    }
    check_names(reader, &names, &prices, given.as_ref());
    prices
}

/// Notes prices of unknown sellers, and sellers without a price.
fn check_names(
    reader: &mut Reader<'_>,
    names: &[&str],
    prices: &BTreeMap<String, f64>,
    given: Option<&BTreeSet<String>>,
) {
    let is_unknown = |name: &&String| !names.is_empty() && !names.contains(&name.as_str());
    for name in prices.keys().filter(is_unknown) {
        reader.problems.add(format!(
            "`{FILE}`: `prices` has `{name}`, which is not a seller: {}",
            offer(name, names)
        ));
    }
    let is_without = |name: &&&str| given.is_some_and(|given| !given.contains(**name));
    for name in names.iter().filter(is_without) {
        reader.problems.add(format!(
            "`{FILE}`: the seller `{name}` has no price: add one to `prices`"
        ));
    }
}

fn check_sellers(sellers: &[(&String, &Opened)], classes: &[String], problems: &mut Problems) {
    for (_, opened) in sellers {
        problems.extend(opened.examples.check_classes("label", classes));
        if let Some((first_name, first)) = sellers.first()
            && opened.scanned.n_features != first.scanned.n_features
        {
            problems.add(format!(
                "the rows of `{}` have {} numbers, and those of the seller `{first_name}` {}: they need the same",
                opened.features.name, opened.scanned.n_features, first.scanned.n_features
            ));
        }
    }
    let has = |class: &String| {
        sellers
            .iter()
            .any(|(_, opened)| opened.examples.required("label").contains(class))
    };
    let missing: Vec<String> = classes
        .iter()
        .filter(|class| !has(class))
        .map(|class| format!("`{class}`"))
        .collect();
    if !missing.is_empty() && !sellers.is_empty() {
        problems.add(format!(
            "no seller has an example of {}: remove the class from `classes`, or give a seller some",
            missing.join(", ")
        ));
    }
}

/// The labels of all sellers' rows, as a CSV.
fn labels(sellers: &[&Opened]) -> Vec<u8> {
    let labels = sellers
        .iter()
        .flat_map(|opened| opened.examples.required("label"));
    csv_of(&["label"], labels.map(|label| [label.as_str()]))
}

/// The rows of one seller.
pub(crate) struct SellersRows {
    /// `(n_rows, n_features)`, row after row.
    pub(crate) features: Vec<f64>,
    /// `(n_rows,)`
    pub(crate) labels: Vec<String>,
}

impl SellersRows {
    fn read(from: &Path, opened: &Opened) -> Result<Self, ImportError> {
        let mut features = Vec::with_capacity(opened.scanned.n_rows * opened.scanned.n_features);
        let read = opened
            .features
            .each_row(&mut |row, _| features.extend_from_slice(row));
        read.map_err(|why| ImportError::refused(from, why.join("; ")))?;
        let labels = opened.examples.required("label").to_vec();
        Ok(Self { features, labels })
    }
}

/// Writes what participants see: the market, and a summary of each seller, without most of its rows.
pub(crate) fn freeze_summaries(
    parameters: &Parameters,
    sellers: impl Iterator<Item = Result<SellersRows, ImportError>>,
    from: &Path,
    writer: &mut DatasetWriter,
) -> Result<(), ImportError> {
    let classes = &parameters.scoring.classes;
    let json = |value: &serde_json::Value| {
        serde_json::to_vec_pretty(value).map_err(|error| ImportError::refused(from, error.to_string()))
    };
    let market = json!({
        "title": parameters.about.title, "budget": parameters.budget, "trials": parameters.n_trials, "seed": parameters.seed,
        "classes": classes, "model": parameters.scoring.model, "metric": parameters.scoring.metric, "sellers": parameters.sellers,
    });
    writer.bytes(MARKET_FILE, &json(&market)?)?;
    for (idx, (seller, rows)) in parameters.sellers.iter().zip(sellers).enumerate() {
        let SellersRows { features, labels } = rows?;
        let numbers = labels
            .iter()
            .map(|label| classes.iter().position(|class| class == label).unwrap_or(0) as u8);
        let numbers: Vec<u8> = numbers.collect();
        let n_features = features.len() / labels.len().max(1);
        let sample = |k: usize| {
            let row = k * seller.n_rows / N_SAMPLES;
            json!({ "features": features[row * n_features..][..n_features], "label": labels[row] })
        };
        let n_of_class = |class: &String| {
            (
                class.clone(),
                labels.iter().filter(|label| *label == class).count(),
            )
        };
        let summary = json!({
            "seller": seller.name, "price": seller.price, "n_rows": seller.n_rows, "n_features": n_features,
            "n_rows_by_label": classes.iter().map(n_of_class).collect::<BTreeMap<_, _>>(),
            "features": Features::summarize(&features, &numbers, classes.len()),
            "samples": (0..N_SAMPLES.min(seller.n_rows)).map(sample).collect::<Vec<_>>(),
        });
        writer.bytes(&summary_file(idx), &json(&summary)?)?;
    }
    Ok(())
}
