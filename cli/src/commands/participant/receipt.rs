//! `dataperf receipt`: the signed receipt of a submission, as it is stored.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::Done;
use crate::cloud::CloudArgs;
use crate::output::{Format, check_new_files, print_json, write_new};

#[derive(Debug, Args)]
pub(crate) struct ReceiptArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The submission's id, or its first digits
    submission: String,
    /// Write the receipt into this new file [default: print it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: ReceiptArgs, format: Format) -> Result<Done> {
    check_new_files(&[args.out.as_deref()])?;
    let (benchmark, connection) = (&args.benchmark, args.cloud.choose().await?);
    let Some(id) = connection.named(benchmark, &args.submission).await? else {
        return Err(connection.no_submission(benchmark, &args.submission).await?);
    };
    let receipt = connection.receipt(benchmark, &id).await?;
    let Some(path) = args.out else {
        print!("{}", String::from_utf8_lossy(&receipt));
        return Ok(Done::Fine);
    };
    write_new(&path, &receipt)?;
    match format {
        Format::Json => print_json(&json!({ "submission": id, "receipt": path }))?,
        Format::Text => println!("wrote the receipt of submission {id} to `{}`", path.display()),
    }
    Ok(Done::Fine)
}
