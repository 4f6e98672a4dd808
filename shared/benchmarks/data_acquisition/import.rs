//! Imports the public layout of Data Acquisition: sellers' CSVs, prices, a budget and the buyer's data of each market.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::data_acquisition::{
    BuyerModel, DataAcquisition, FEATURES, LABELS, Market, N_TRIALS, Parameters, SEED, Seller, eval_file,
    features_file, labels_file, seller_file,
};
use dataperf::dataset::encoding::{Exact, encoding};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf_numerics::numbers::Encoding;
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde_json::json;

use crate::data_acquisition::seller_summary::SellerSummary;
use dataperf_datasets::labels::labelled::{LabelledAt, LabelsAt, RowsAt};
use dataperf_datasets::tables::lines::{dialect, read_text};
use dataperf_datasets::{DatasetWriter, Hashing, Planned};
use dataperf_datasets::{Import, ImportError, KitTable, Progress, Values, named, text_if_there};

/// The only pricing function: a share of a seller's rows costs that share of its price.
const PRICING: &str = "Lin";
/// The most problems of one file that are listed; further ones are left out.
const MAX_PROBLEMS: usize = 20;
const SPOOL_BYTES: usize = 1 << 20;

impl Import for DataAcquisition {
    const LAYOUT: &'static str = "a directory with, for each market, `features/MARKET/SELLER.csv`, \
        `marketinfo/MARKET/price/price.txt` and `budget.txt`, and one CSV in `marketinfo/MARKET/data_buyer`; \
        `marketinfo/buyer_model.txt` may name the buyer's model";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("kit/starter.py");

    fn tables(_directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let markets = manifest.parameters::<Parameters>()?.markets;
        let sellers: Vec<(i64, i64, &Seller)> = markets
            .iter()
            .flat_map(|(&number, market)| {
                (0..)
                    .zip(&market.sellers)
                    .map(move |(idx, seller)| (i64::from(number), idx, seller))
            })
            .collect();
        let whole = |get: fn(&(i64, i64, &Seller)) -> i64| Values::Whole(sellers.iter().map(get).collect());
        let prices = sellers.iter().map(|(_, _, seller)| seller.max_price);
        Ok(vec![KitTable {
            name: "sellers".to_owned(),
            columns: vec![
                ("market".to_owned(), whole(|&(market, _, _)| market)),
                ("seller".to_owned(), whole(|&(_, seller, _)| seller)),
                (
                    "n_rows".to_owned(),
                    whole(|(_, _, seller)| i64::try_from(seller.n_rows).unwrap_or(i64::MAX)),
                ),
                ("max_price".to_owned(), Values::Real(prices.collect())),
            ],
            rows: None,
        }])
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let of_market = |(number, market): (u32, Market)| {
            let rows = |file: String| RowsAt {
                n_decimals: market.n_decimals,
                ..RowsAt::new(file, FEATURES)
            };
            LabelledAt {
                name: number.to_string(),
                classes: vec!["0".to_owned(), "1".to_owned()],
                rows: rows(eval_file(number)),
                labels: LabelsAt::Bytes {
                    file: eval_file(number),
                    tensor: LABELS,
                },
                training: vec![rows(features_file(number))],
            }
        };
        Ok(parameters.markets.into_iter().map(of_market).collect())
    }

    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError> {
        let refused = |problems| ImportError::Refused {
            from: from.to_owned(),
            problems,
        };
        let mut problems = Vec::new();
        let markets = numbered(&from.join("features"), "")?;
        if markets.is_empty() {
            problems.push("`features` has no directory of a market, such as `0`".into());
        }
        for number in numbered(&from.join("marketinfo"), "")?
            .keys()
            .filter(|number| !markets.contains_key(number))
        {
            problems.push(format!(
                "the market `{number}` is in `marketinfo`, and its sellers are not in `features/{number}`"
            ));
        }
        let buyer_model = buyer_model(&from.join("marketinfo/buyer_model.txt")).unwrap_or_else(|problem| {
            problems.push(problem);
            BuyerModel::LogisticRegression
        });
        let mut sources = Vec::new();
        for (number, directory) in markets {
            match Source::read(
                number,
                &directory,
                &from.join("marketinfo").join(number.to_string()),
            )? {
                Ok(source) => sources.push(source),
                Err(errors) => problems.extend(errors),
            }
        }
        let n_bytes = sources
            .iter()
            .flat_map(|source| source.sellers.iter().chain([&source.buyer]));
        let n_bytes = n_bytes
            .map(|path| path.metadata().map_or(0, |metadata| metadata.len()))
            .sum();
        progress.begin("importing bytes of markets", n_bytes);
        let mut parameters = Parameters {
            buyer_model,
            seed: SEED,
            n_trials: N_TRIALS,
            markets: BTreeMap::new(),
        };
        for source in &sources {
            match source.freeze(buyer_model, writer, progress)? {
                Ok(market) => {
                    parameters.markets.insert(source.number, market);
                }
                Err(errors) => problems.extend(errors),
            }
        }
        if !problems.is_empty() {
            return Err(refused(problems));
        }
        serde_json::to_value(&parameters).map_err(|error| ImportError::refused(from, error.to_string()))
    }
}

/// The entries of a directory that are named with a number and `suffix`, by that number; none if the directory is missing.
fn numbered(directory: &Path, suffix: &str) -> Result<BTreeMap<u32, PathBuf>, ImportError> {
    let mut files: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for (stem, path) in named(directory, "", suffix)? {
        let Ok(number) = stem.parse() else {
            continue;
        };
        if let Some(other) = files.insert(number, path) {
            let other = other.file_name().unwrap_or_default().display();
            let why = format!("`{other}` and `{stem}{suffix}` are both number {number}: keep one");
            return Err(ImportError::refused(directory, why));
        }
    }
    Ok(files)
}

fn buyer_model(path: &Path) -> Result<BuyerModel, String> {
    let Some(text) = text_if_there(path)? else {
        return Ok(BuyerModel::LogisticRegression);
    };
    parsed(text.trim()).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn parsed<T: DeserializeOwned>(word: &str) -> Result<T, Error> {
    let deserializer: StrDeserializer<Error> = word.into_deserializer();
    T::deserialize(deserializer)
}

/// The files of one market and its prices and budget.
struct Source {
    number: u32,
    budget: f64,
    prices: Vec<f64>,
    sellers: Vec<PathBuf>,
    buyer: PathBuf,
}

impl Source {
    fn read(number: u32, directory: &Path, info: &Path) -> Result<Result<Self, Vec<String>>, ImportError> {
        let mut problems = Vec::new();
        let sellers = numbered(directory, ".csv")?;
        if sellers.is_empty() || !sellers.keys().copied().eq(0..sellers.len() as u32) {
            let n = sellers.len();
            problems.push(format!(
                "`{}` has {n} sellers: they must be `0.csv`, `1.csv` and on, without a gap",
                directory.display()
            ));
        }
        let buyers = numbered(&info.join("data_buyer"), ".csv")?;
        if buyers.len() != 1 {
            let n = buyers.len();
            problems.push(format!(
                "`{}` has {n} files `NUMBER.csv`: there must be one",
                info.join("data_buyer").display()
            ));
        }
        let price = info.join("price");
        let prices = prices(&price.join("price.txt"), sellers.len()).unwrap_or_else(|errors| {
            problems.extend(errors);
            Vec::new()
        });
        let budget = budget(&price.join("budget.txt")).unwrap_or_else(|problem| {
            problems.push(problem);
            0.0
        });
        Ok(match buyers.into_values().next() {
            Some(buyer) if problems.is_empty() => Ok(Self {
                number,
                budget,
                prices,
                sellers: sellers.into_values().collect(),
                buyer,
            }),
            _ => Err(problems),
        })
    }

    fn freeze(
        &self,
        buyer_model: BuyerModel,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<Result<Market, Vec<String>>, ImportError> {
        let buyer = match Table::read(&self.buyer, progress) {
            Ok(buyer) => buyer,
            Err(errors) => return Ok(Err(errors)),
        };
        let spool_failed = || ImportError::io("can't write next to", Path::new("the data set"));
        let mut spool = BufWriter::with_capacity(SPOOL_BYTES, writer.temporary_file()?);
        let (mut problems, mut sellers, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let mut exact = buyer.exact.clone();
        // sellers are read side by side, at most as many as there are threads, because their rows are in memory meanwhile
        let indexed: Vec<(usize, &PathBuf)> = self.sellers.iter().enumerate().collect();
        for some in indexed.chunks(rayon::current_num_threads()) {
            let read = some.par_iter().map(|&(idx, path)| {
                let table = Table::read(path, progress)?;
                if table.n_features != buyer.n_features {
                    let (n, expected) = (table.n_features, buyer.n_features);
                    return Err(vec![format!(
                        "`{}` has {n} features, the buyer's data {expected}",
                        path.display()
                    )]);
                }
                let place = (self.number, idx as u32);
                let summary = SellerSummary::new(place, self.prices[idx], &table.features, &table.labels);
                Ok((idx, table, summary))
            });
            for table in read.collect::<Vec<_>>() {
                match table {
                    Ok((idx, table, summary)) => {
                        exact.intersect(&table.exact);
                        spool
                            .write_all(bytemuck::cast_slice(&table.features))
                            .map_err(spool_failed())?;
                        sellers.push(Seller {
                            n_rows: table.labels.len(),
                            max_price: self.prices[idx],
                        });
                        labels.extend(table.labels);
                        let json =
                            serde_json::to_string(&summary).map_err(|error| spool_failed()(error.into()))?;
                        writer.lines(&seller_file(self.number, idx), &[json])?;
                    }
                    Err(errors) => problems.extend(errors),
                }
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        let spool = spool
            .into_inner()
            .map_err(|error| spool_failed()(error.into_error()))?;
        let (dtype, n_decimals) = exact.best();
        let market = Market {
            budget: self.budget,
            n_decimals,
            sellers,
        };
        self.write(writer, &market, buyer_model, spool, &labels, &buyer, dtype)?;
        Ok(Ok(market))
    }

    #[expect(clippy::too_many_arguments, reason = "everything that a market is made of")]
    fn write(
        &self,
        writer: &mut DatasetWriter,
        market: &Market,
        buyer_model: BuyerModel,
        mut spool: File,
        labels: &[u8],
        buyer: &Table,
        dtype: Dtype,
    ) -> Result<(), ImportError> {
        let (number, n_features) = (self.number, buyer.n_features);
        let encoding = encoding(dtype, market.n_decimals).unwrap_or(Encoding::F64);
        let matrix = |n_rows| Planned {
            name: FEATURES,
            dtype,
            shape: vec![n_rows, n_features],
        };
        let vector = |n_rows| Planned {
            name: LABELS,
            dtype: Dtype::U8,
            shape: vec![n_rows],
        };
        writer.tensors(&features_file(number), &[matrix(labels.len())], |file| {
            let failed = || ImportError::io("can't read next to", Path::new("the data set"));
            spool.rewind().map_err(failed())?;
            let mut spool = BufReader::new(spool);
            let mut some = vec![0.0; SPOOL_BYTES / size_of::<f64>()];
            let mut n_left = labels.len() * n_features;
            while n_left > 0 {
                let n_some = n_left.min(some.len());
                let some = &mut some[..n_some];
                spool
                    .read_exact(bytemuck::cast_slice_mut(some))
                    .map_err(failed())?;
                write_as(file, encoding, some)?;
                n_left -= n_some;
            }
            Ok(())
        })?;
        writer.row_digests(&features_file(number), FEATURES)?;
        writer.tensors(&labels_file(number), &[vector(labels.len())], |file| {
            file.write(labels)
        })?;
        writer.tensors(
            &eval_file(number),
            &[matrix(buyer.labels.len()), vector(buyer.labels.len())],
            |file| {
                write_as(file, encoding, &buyer.features)?;
                file.write(&buyer.labels)
            },
        )?;
        let about = json!({
            "market": number, "budget": market.budget, "pricing": "count / n_rows * max_price", "buyer_model": buyer_model,
            "n_features": n_features, "sellers": market.sellers,
        });
        writer.lines(&format!("public/{number}/market.json"), &[about.to_string()])
    }
}

fn write_as(file: &mut Hashing, encoding: Encoding, numbers: &[f64]) -> Result<(), ImportError> {
    let mut bytes = Vec::new();
    encoding.encode(numbers, &mut bytes);
    file.write(&bytes)
}

/// The price of all rows of each seller, from a file with one line such as `Lin,100` for each.
fn prices(path: &Path, n_sellers: usize) -> Result<Vec<f64>, Vec<String>> {
    let about = |why: String| format!("`{}`: {why}", path.display());
    let text = read_text(path).map_err(|why| vec![about(why)])?;
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let mut problems = Vec::new();
    if lines.len() != n_sellers {
        problems.push(about(format!(
            "it has {} prices for {n_sellers} sellers: give it a line for each seller and none for the buyer, `head -n {n_sellers} price.txt`",
            lines.len()
        )));
    }
    let mut prices = Vec::new();
    for (line, number) in lines.iter().zip(1..) {
        let price = line
            .split_once(',')
            .filter(|(pricing, _)| pricing.trim() == PRICING);
        match price.and_then(|(_, price)| amount(price)) {
            Some(price) => prices.push(price),
            None => problems.push(about(format!(
                "price {number} is `{line}`: it must be like `{PRICING},100`"
            ))),
        }
    }
    if problems.is_empty() {
        Ok(prices)
    } else {
        Err(problems)
    }
}

fn budget(path: &Path) -> Result<f64, String> {
    let about = |why: String| format!("`{}`: {why}", path.display());
    let text = read_text(path).map_err(about)?;
    amount(&text).ok_or_else(|| about(format!("it is `{}`, not a number", text.trim())))
}

fn amount(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
}

/// A CSV without a header: the features, then the label in the last column.
struct Table {
    n_features: usize,
    features: Vec<f64>,
    labels: Vec<u8>,
    /// The encodings that hold the table's numbers exactly.
    exact: Exact,
}

impl Table {
    fn read(path: &Path, progress: &dyn Progress) -> Result<Self, Vec<String>> {
        let about = |why: String| format!("`{}`: {why}", path.display());
        let dialect = dialect(path).map_err(|why| vec![about(why)])?;
        let file = File::open(path).map_err(|error| vec![about(error.to_string())])?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(dialect.separator())
            .from_reader(dialect.decoded(BufReader::new(file)));
        let mut table = Self {
            n_features: 0,
            features: Vec::new(),
            labels: Vec::new(),
            exact: Exact::default(),
        };
        let (mut problems, mut record, mut n_bytes) = (Vec::new(), csv::ByteRecord::new(), 0);
        while problems.len() < MAX_PROBLEMS {
            match reader.read_byte_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {
                    let row = record.position().map_or(0, csv::Position::record) + 1;
                    let pushed = table.push(&record);
                    problems.extend(pushed.err().map(|why| about(format!("row {row}: {why}"))));
                }
                Err(error) => {
                    problems.push(about(error.to_string()));
                    break;
                }
            }
            let position = reader.position().byte();
            if position - n_bytes > SPOOL_BYTES as u64 {
                progress.advance(position - n_bytes);
                n_bytes = position;
            }
        }
        progress.advance(reader.position().byte() - n_bytes);
        if problems.is_empty() && table.labels.is_empty() {
            problems.push(about("it has no rows".into()));
        }
        if problems.is_empty() {
            table.exact.keep(&table.features);
            Ok(table)
        } else {
            Err(problems)
        }
    }

    fn push(&mut self, record: &csv::ByteRecord) -> Result<(), String> {
        if self.n_features == 0 {
            self.n_features = record.len().saturating_sub(1);
        }
        if record.len() != self.n_features + 1 || self.n_features == 0 {
            return Err(format!(
                "it has {} columns instead of {}",
                record.len(),
                self.n_features.max(1) + 1
            ));
        }
        for (column, field) in record.iter().enumerate() {
            let number = std::str::from_utf8(field)
                .ok()
                .and_then(|field| field.trim().parse::<f64>().ok());
            let number = number.filter(|number| number.is_finite());
            let shown = || {
                format!(
                    "column {} is `{}`",
                    column + 1,
                    String::from_utf8_lossy(&field[..field.len().min(40)])
                )
            };
            let number = number.ok_or_else(|| format!("{}, not a finite number", shown()))?;
            if column < self.n_features {
                self.features.push(number);
            } else if [0.0, 1.0].contains(&number) {
                self.labels.push(number as u8);
            } else {
                return Err(format!("{}: the label must be 0 or 1", shown()));
            }
        }
        Ok(())
    }
}
