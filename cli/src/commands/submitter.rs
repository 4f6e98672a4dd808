//! `dataperf submitter`: the least access with which somebody can submit.

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use dataperf::SubmitterName;
use dataperf::challenge::BASELINE_PREFIX;
use dataperf_aws::{FormRequest, MAX_FORM_SECONDS, Submitter, UploadForm, submitter_policy, upload_form};
use dataperf_nibbler::{
    Artifact as _, BENCHMARK as ADVERSARIAL_NIBBLER, Board as NibblerBoard, GenerationRequest, Kind,
    Submission as Pair, Verdict as Judged,
};
use dataperf_nibbler_aws::{PAIR_IMAGES, is_participant, name_rater, rater_partition, unjudged_partition};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::in_force::Boards;
use crate::output::{Format, print_json};
use crate::registry::descriptor;

#[derive(Debug, Subcommand)]
pub(crate) enum SubmitterCommand {
    /// Let somebody submit: upload forms, or a policy for a role of their own
    Add(AddArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Neither lets anybody see or change what others have submitted, or write a receipt or a score.\n\n\
    Examples:\n  dataperf submitter add ada speech-selection --local             forms for a week, with the curl command\n  \
    dataperf submitter add ada speech-selection -l en-25 --hours 24 --format json > ada.json\n  \
    dataperf submitter add ada speech-selection --access policy > ada-policy.json\n  \
    dataperf submitter add rosa adversarial-nibbler --rater --access policy > rosa-policy.json\n  \
    aws iam put-user-policy --user-name ada --policy-name submit --policy-document file://ada-policy.json"
)]
pub(crate) struct AddArgs {
    /// The submitter's name, as it stands in keys and on leaderboards: small letters, digits, and single `.`, `_` or `-`
    name: SubmitterName,
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// Name somebody a rater of Adversarial Nibbler, who judges pairs and submits none
    #[arg(long)]
    rater: bool,
    /// Only these leaderboards; by default all that are in force
    #[arg(long, short)]
    leaderboard: Vec<String>,
    /// What to give
    #[arg(long, value_enum, default_value_t = Access::Forms)]
    access: Access,
    /// How long forms are valid; no longer than the credentials that sign them
    #[arg(long, default_value_t = MAX_FORM_SECONDS / 3600, value_parser = clap::value_parser!(u32).range(1..=168))]
    hours: u32,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Access {
    /// A signed form a leaderboard, for somebody without an AWS account; anybody who has it can use it until it expires
    Forms,
    /// An IAM policy for somebody's user or role, who then uses `aws s3 cp` and reads their receipts
    Policy,
}

pub(crate) async fn run(command: SubmitterCommand, format: Format) -> Result<Done> {
    let SubmitterCommand::Add(args) = command;
    check_name(&args.name)?;
    let cloud = args.cloud.clone().connect().await;
    let boards = if args.benchmark == ADVERSARIAL_NIBBLER {
        kinds(args.rater)
    } else if args.rater {
        bail!(
            "`{}` has no raters: `--rater` is for `{ADVERSARIAL_NIBBLER}`",
            args.benchmark
        );
    } else {
        leaderboards(&cloud, &args.benchmark).await?
    };
    let leaderboards = chosen(&boards, &args.leaderboard)?;
    if args.rater {
        let table = cloud.leaderboards();
        if is_participant(&table, args.name.as_str()).await? {
            bail!(
                "`{}` has submitted pairs: who takes part judges nobody's",
                args.name
            );
        }
        name_rater(&table, args.name.as_str(), now()).await?;
    }
    match args.access {
        Access::Policy => {
            let submitter = Submitter {
                benchmark: &args.benchmark,
                leaderboards: &leaderboards,
                name: args.name.as_str(),
                receipts_of: &boards.receipts_of,
                folders: if args.rater { &[PAIR_IMAGES] } else { &[] },
                partitions: &partitions(&args),
                table: &cloud.table_arn(),
            };
            let names = &cloud.names;
            print_json(&submitter_policy(
                &submitter,
                &names.submissions_bucket,
                &names.results_bucket,
                cloud.partition(),
            ))?;
        }
        Access::Forms => {
            let mut forms = Vec::new();
            for leaderboard in &leaderboards {
                forms.push((
                    leaderboard.clone(),
                    form(&cloud, &args, leaderboard, boards.max_bytes).await?,
                ));
            }
            print_forms(&forms, format)?;
        }
    }
    Ok(Done::Fine)
}

fn check_name(name: &SubmitterName) -> Result<()> {
    if name.is_baseline() {
        bail!(
            "`{name}` can't be a submitter's name: names that begin with `{BASELINE_PREFIX}` are the organizer's, and unranked"
        );
    }
    Ok(())
}

/// What of a benchmark may be uploaded to.
struct InForce {
    leaderboards: Vec<String>,
    max_bytes: u64,
    receipts_of: Vec<String>,
}

/// What Adversarial Nibbler has in the place of leaderboards: a rater sends verdicts, a participant everything else and reads
/// how the scores change.
fn kinds(is_rater: bool) -> InForce {
    let names = |kinds: &[Kind]| kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
    let boards = NibblerBoard::ALL.map(|board| board.as_str().to_owned());
    let (leaderboards, max_bytes, receipts_of) = if is_rater {
        (names(&[Kind::Verdict]), Judged::MAX_BYTES, Vec::new())
    } else {
        let kinds = names(&[Kind::Generate, Kind::Submit]);
        (
            kinds,
            Pair::MAX_BYTES.max(GenerationRequest::MAX_BYTES),
            boards.into(),
        )
    };
    InForce {
        leaderboards,
        max_bytes,
        receipts_of,
    }
}

/// The parts of the table that a rater reads: the queue, and what was judged already.
fn partitions(args: &AddArgs) -> Vec<String> {
    if args.rater {
        vec![unjudged_partition(), rater_partition(args.name.as_str())]
    } else {
        Vec::new()
    }
}

/// What may be uploaded to a benchmark of which nothing is fixed: its leaderboards in force.
async fn leaderboards(cloud: &Cloud, benchmark: &str) -> Result<InForce> {
    let hosted = descriptor(benchmark)?;
    let boards = Boards::of(&cloud.datasets(), hosted).await?;
    Ok(InForce {
        leaderboards: boards.boards.into_keys().collect(),
        max_bytes: hosted.max_artifact_bytes,
        receipts_of: Vec::new(),
    })
}

fn chosen(boards: &InForce, wanted: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = wanted.iter().find(|board| !boards.leaderboards.contains(board)) {
        bail!(
            "there is no leaderboard `{unknown}`: choose of `{}`",
            boards.leaderboards.join("`, `")
        );
    }
    Ok(if wanted.is_empty() {
        boards.leaderboards.clone()
    } else {
        wanted.to_vec()
    })
}

async fn form(cloud: &Cloud, args: &AddArgs, leaderboard: &str, max_bytes: u64) -> Result<UploadForm> {
    let credentials = cloud
        .clients
        .credentials()
        .await
        .context("there are no credentials to sign with")?;
    let (region, url) = cloud.submissions_address();
    let prefix = format!("{}/{leaderboard}/{}/", args.benchmark, args.name);
    let request = FormRequest {
        url: &url,
        bucket: &cloud.names.submissions_bucket,
        prefix: &prefix,
        region: &region,
        max_bytes,
        valid_seconds: args.hours * 3600,
    };
    Ok(upload_form(&request, &credentials, now()))
}

fn print_forms(forms: &[(String, UploadForm)], format: Format) -> Result<()> {
    if format == Format::Json {
        let documents: Vec<Value> = forms
            .iter()
            .map(|(leaderboard, form)| json!({ "leaderboard": leaderboard, "form": form }))
            .collect();
        return print_json(&documents);
    }
    for (leaderboard, form) in forms {
        println!(
            "# {leaderboard}: files of at most {} bytes, until {}",
            form.max_bytes, form.expires_at
        );
        let fields: Vec<String> = form
            .fields
            .iter()
            .map(|(name, value)| format!("-F '{name}={value}'"))
            .collect();
        println!(
            "curl --fail-with-body {} -F file=@FILE '{}'\n",
            fields.join(" "),
            form.url
        );
    }
    Ok(())
}
