//! `dataperf submitter`: the least access with which somebody can submit.

mod invite;
mod list;
mod refresh;

pub(crate) use refresh::lacking;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use dataperf::challenge::BASELINE_PREFIX;
use dataperf::{SubmitterName, offer};
use dataperf_aws::{FormKey, FormRequest, Grant, MAX_FORM_SECONDS, UploadForm, upload_form};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::active_boards::Boards;
use crate::cloud::known;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::extension::Uploads;
use crate::hosted::descriptor;
use crate::output::rows::RowFormat;
use crate::output::{Format, print_json};
use crate::registry::{HOSTED_EXTENSIONS, hosted_extension};

#[derive(Debug, Subcommand)]
pub(crate) enum SubmitterCommand {
    /// Let somebody submit: print upload forms or IAM commands
    Add(AddArgs),
    /// Create tokens for many people at once
    Invite(invite::InviteArgs),
    /// List submitters with their uploads and limits
    List(list::ListArgs),
    /// List files that were submitted more than once
    Identical(list::IdenticalArgs),
    /// Make forms for new leaderboards
    Refresh(refresh::RefreshArgs),
    /// Free a name that was taken by mistake
    Free(FreeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FreeArgs {
    /// The name
    name: SubmitterName,
    /// The benchmark [default: all]
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The name: lower-case letters, digits, and single `.`, `_`, `-`
    name: SubmitterName,
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// Make somebody a rater of Adversarial Nibbler or Text
    #[arg(long)]
    rater: bool,
    /// Only for these leaderboards [default: all active ones]; repeatable
    #[arg(long, short)]
    leaderboard: Vec<String>,
    /// forms (for anybody) or policy (for an IAM user or role)
    #[arg(long, value_enum, default_value_t = Access::Forms)]
    access: Access,
    /// How long forms are valid
    #[arg(long, default_value_t = MAX_FORM_SECONDS / 3600, value_parser = clap::value_parser!(u32).range(1..=168))]
    hours: u32,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Access {
    /// A signed form for each leaderboard, for people without an AWS account; anybody who has a form can use it until it expires
    Forms,
    /// Tags for a person's IAM user or role, for `aws s3 cp` and receipts in all benchmarks
    Policy,
}

pub(crate) async fn run(command: SubmitterCommand, format: RowFormat) -> Result<Done> {
    match command {
        SubmitterCommand::Add(args) => add(args, format.of_documents()?).await,
        SubmitterCommand::Invite(args) => Box::pin(invite::run(args, format.of_documents()?)).await,
        SubmitterCommand::List(args) => list::list(args, format).await,
        SubmitterCommand::Identical(args) => list::identical(args, format).await,
        SubmitterCommand::Refresh(args) => refresh::run(args, format.of_documents()?).await,
        SubmitterCommand::Free(args) => free(args, format.of_documents()?).await,
    }
}

async fn free(args: FreeArgs, format: Format) -> Result<Done> {
    let table = args.cloud.connect().await?.leaderboards();
    let all = dataperf_hosted::IDS.iter().copied();
    let mut freed = Vec::new();
    for benchmark in all.filter(|id| args.benchmark.as_ref().is_none_or(|only| only == id)) {
        if table.free_name(benchmark, &args.name).await? {
            freed.push(benchmark);
        }
    }
    if freed.is_empty() {
        bail!(
            "nobody has the name `{}`{}: nothing was freed",
            args.name,
            args.benchmark.map_or(String::new(), |id| format!(" in {id}"))
        );
    }
    match format {
        Format::Json => print_json(&json!({ "submitter": args.name, "freed": freed }))?,
        Format::Text => println!("`{}` is free again in {}", args.name, freed.join(", ")),
    }
    Ok(Done::Fine)
}

async fn add(args: AddArgs, format: Format) -> Result<Done> {
    check_name(&args.name)?;
    if args.access == Access::Policy && !args.leaderboard.is_empty() {
        bail!("the submitters' policy is for all leaderboards: leave `--leaderboard` out, or give forms");
    }
    let cloud = args.cloud.clone().connect().await?;
    let is_kept = known::check_name(&cloud, &args.benchmark, &args.name).await?;
    let extension = hosted_extension(&args.benchmark);
    let boards = match extension {
        Some(extension) => extension.uploads(args.rater),
        None if args.rater => {
            let ids: Vec<&str> = HOSTED_EXTENSIONS
                .iter()
                .map(|other| other.descriptor().id)
                .collect();
            bail!(
                "`{}` has no raters: `--rater` is for `{}`",
                args.benchmark,
                ids.join("`, `")
            );
        }
        None => leaderboards(&cloud, &args.benchmark).await?,
    };
    let leaderboards = chosen(&boards, &args.leaderboard)?;
    known::note_name(&cloud, &args.benchmark, &args.name, is_kept).await?;
    if let Some(extension) = extension.filter(|_| args.rater) {
        extension.name_rater(&cloud, &args.name).await?;
    }
    let right = Right {
        cloud: &cloud,
        benchmark: &args.benchmark,
        name: &args.name,
        boards: &boards,
    };
    if args.access == Access::Policy {
        print_tags(&args, format)?;
        return Ok(Done::Fine);
    }
    print_forms(&right.forms(&leaderboards, args.hours).await?, format)?;
    if descriptor(&args.benchmark)?.fixed.is_none() {
        let grant = Grant {
            submitter: args.name.clone(),
            is_chosen: !args.leaderboard.is_empty(),
            leaderboards,
            at: now(),
        };
        cloud.leaderboards().note_grant(&args.benchmark, &grant).await?;
    }
    Ok(Done::Fine)
}

/// The variable with the ARN of the policy of all submitters.
const POLICY: &str = "DATAPERF_SUBMITTER_POLICY";

/// The uploads that somebody may make.
struct Right<'a> {
    cloud: &'a Cloud,
    benchmark: &'a str,
    name: &'a SubmitterName,
    boards: &'a Uploads,
}

impl Right<'_> {
    async fn forms(&self, leaderboards: &[String], hours: u32) -> Result<Vec<(String, UploadForm)>> {
        let mut forms = Vec::new();
        for leaderboard in leaderboards {
            forms.push((leaderboard.clone(), self.form(leaderboard, hours).await?));
        }
        Ok(forms)
    }

    async fn form(&self, leaderboard: &str, hours: u32) -> Result<UploadForm> {
        let cloud = self.cloud;
        let credentials = cloud
            .clients
            .credentials()
            .await
            .context("the function has no credentials to sign with")?;
        let (region, url) = cloud.submissions_address();
        let prefix = format!("{}/{leaderboard}/{}/", self.benchmark, self.name);
        let request = FormRequest {
            url: &url,
            bucket: &cloud.names.submissions_bucket,
            key: FormKey::Below(&prefix),
            region: &region,
            max_bytes: self.boards.max_bytes,
            valid_seconds: hours * 3600,
        };
        Ok(upload_form(&request, &credentials, now()))
    }
}

/// Prints how a user of the organizer's AWS account becomes a submitter: the stack's policy knows everybody by tags.
fn print_tags(args: &AddArgs, format: Format) -> Result<()> {
    let (name, benchmark) = (&args.name, &args.benchmark);
    let mut tags = json!({ "submitter": name });
    let mut words = format!("Key=submitter,Value={name}");
    if args.rater {
        tags["rater"] = json!(benchmark);
        words = format!("{words} Key=rater,Value={benchmark}");
    }
    let commands = [
        format!("aws iam tag-user --user-name {name} --tags {words}"),
        format!("aws iam attach-user-policy --user-name {name} --policy-arn \"${POLICY}\""),
    ];
    if format == Format::Json {
        return print_json(&json!({ "submitter": name, "tags": tags, "commands": commands }));
    }
    print!(
        "# for all benchmarks; {POLICY} is the stack's output `SubmitterPolicy`\n{}\n",
        commands.join("\n")
    );
    Ok(())
}

fn check_name(name: &SubmitterName) -> Result<()> {
    if name.is_baseline() {
        bail!(
            "`{name}` can't be a submitter's name: names that begin with `{BASELINE_PREFIX}` are the organizer's, and unranked"
        );
    }
    Ok(())
}

/// The active leaderboards of a benchmark without fixed boards: the ones that take uploads.
async fn leaderboards(cloud: &Cloud, benchmark: &str) -> Result<Uploads> {
    let hosted = descriptor(benchmark)?;
    let boards = Boards::read(&cloud.datasets(), hosted).await?;
    Ok(Uploads {
        leaderboards: boards.boards.into_keys().collect(),
        max_bytes: hosted.max_artifact_bytes,
    })
}

fn chosen(boards: &Uploads, wanted: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = wanted.iter().find(|board| !boards.leaderboards.contains(board)) {
        bail!(
            "there is no leaderboard `{unknown}`: {}",
            offer(unknown, &boards.leaderboards)
        );
    }
    Ok(if wanted.is_empty() {
        boards.leaderboards.clone()
    } else {
        wanted.to_vec()
    })
}

fn documents(forms: &[(String, UploadForm)]) -> Vec<Value> {
    let document =
        |(leaderboard, form): &(String, UploadForm)| json!({ "leaderboard": leaderboard, "form": form });
    forms.iter().map(document).collect()
}

fn print_forms(forms: &[(String, UploadForm)], format: Format) -> Result<()> {
    if format == Format::Json {
        return print_json(&documents(forms));
    }
    print!(
        "# The last part of `key` is the file's name, and you may change it. Names of Python programs end in `.py` or \
         `.zip`.\n# curl prints nothing if the file is stored. The page and `dataperf status` show the result.\n\n"
    );
    for (leaderboard, form) in forms {
        print!(
            "# {leaderboard}: files of at most {} bytes, until {}\n",
            form.max_bytes, form.expires_at
        );
        let fields: Vec<String> = form
            .fields
            .iter()
            .map(|(name, value)| format!("-F '{name}={value}'"))
            .collect();
        print!(
            "curl --fail-with-body {} -F file=@FILE '{}'\n\n",
            fields.join(" "),
            form.url
        );
    }
    Ok(())
}
