//! `dataperf`: data sets, scores, submissions, leaderboards, and the cloud on one machine.

#![cfg_attr(
    not(feature = "cloud"),
    allow(dead_code, unused_imports, unused_macros, clippy::unused_async)
)] // parts that only a cloud needs

#[macro_use]
mod print;

mod arguments;
mod clock;
#[cfg(feature = "cloud")]
mod cloud;
mod commands;
mod eval_files;
mod extension;
mod hosted;
mod import;
#[cfg(feature = "local")]
mod local;
mod on_disk;
mod output;
mod registry;
mod stop;

use std::process::ExitCode;
use std::thread;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use output::rows::RowFormat;

/// Competitions on data: the model is fixed, and participants improve the data
#[derive(Debug, Parser)]
#[command(name = "dataperf", version, arg_required_else_help = true)]
struct Cli {
    /// Print results as text, json, csv or yaml
    #[arg(long, global = true, value_enum, default_value_t = RowFormat::Text)]
    format: RowFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "local")]
    /// Run a demo of everything on this machine
    Demo(commands::demo::DemoArgs),
    /// Score an artifact offline, exactly as the cloud does
    Score(commands::participant::score::ScoreArgs),
    /// Check an artifact offline, without scoring it
    Validate(commands::participant::score::ArtifactArgs),
    /// Check a receipt or a published board
    Verify(commands::verify::VerifyArgs),
    /// Make, describe and publish data sets
    #[command(subcommand)]
    Dataset(commands::dataset::DatasetCommand),
    /// Find doubtful labels in a test set
    Audit(commands::audit::AuditArgs),
    /// Make, list or submit baselines
    Baseline(commands::baseline::BaselineArgs),
    /// Write, check and publish challenges: rounds and limits
    #[command(subcommand)]
    Challenge(commands::challenge::ChallengeCommand),
    /// Try programs for closed-division rounds
    #[cfg(feature = "closed")]
    #[command(subcommand)]
    Closed(commands::participant::closed::ClosedCommand),
    #[cfg(feature = "cloud")]
    #[command(flatten)]
    Online(Box<commands::online::OnlineCommand>),
    /// Rank results of other benchmarks, offline
    Rank(Box<commands::rank::RankArgs>),
    /// Adversarial Text: submit, judge and train on texts
    #[command(subcommand)]
    Dynamic(commands::dynamic::DynamicCommand),
    #[cfg(feature = "local")]
    /// Run the whole cloud on this machine
    Local(commands::local::LocalArgs),
    /// The files that each importer needs
    #[command(hide = true, after_help = registry::layouts())]
    Layouts,
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Bytes of the stack of a command, whatever `ulimit -s` sets for the first thread.
const STACK_BYTES: usize = 8 << 20;
/// The code with which Rust ends a program that has panicked.
const PANICKED: u8 = 101;
/// The number of open files that is enough for every command but `local` and `demo`.
const N_FILES: u32 = 256;

/// The outcome for the artifact of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Nothing was rejected.
    Fine,
    /// The artifact was rejected.
    Rejected,
}

fn main() -> ExitCode {
    // the process of a submitted program is this program, before it has done anything else
    #[cfg(feature = "closed")]
    if let Some(ended) = dataperf_closed::child() {
        return ended;
    }
    let command = thread::Builder::new().stack_size(STACK_BYTES).spawn(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        Ok(runtime.block_on(Box::pin(command())))
    });
    match command.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(code))) => code,
        Ok(Err(_)) => ExitCode::from(PANICKED), // which has said why
        Ok(Ok(Err(error))) | Err(error) => can_not_start(&error),
    }
}

/// Says that the machine allows too little for a command to start.
fn can_not_start(error: &std::io::Error) -> ExitCode {
    eprintln!(
        "error: the command can't start: {error}: raise the limits of open files (`ulimit -n`), processes (`ulimit -u`) and memory \
         (`ulimit -v`), {N_FILES} files are enough"
    );
    ExitCode::from(1)
}

async fn command() -> ExitCode {
    let parsed = arguments::groups::grouped(Cli::command())
        .try_get_matches()
        .inspect(arguments::given::note)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // 2 means that an artifact was rejected, so a wrong call is 1. Asking for help is no error.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(1)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let levels = std::env::var("RUST_LOG")
        .ok()
        .and_then(|levels| levels.parse::<Targets>().ok());
    tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr))
        .with(levels.unwrap_or_default()) // nothing by default
        .init();
    match Box::pin(run(cli)).await {
        Ok(Done::Fine) => ExitCode::SUCCESS,
        Ok(Done::Rejected) => ExitCode::from(2),
        Err(error) => {
            eprintln!("error: {}", output::explain::in_lines(&error));
            ExitCode::from(1)
        }
    }
}

async fn run(cli: Cli) -> anyhow::Result<Done> {
    let rows = cli.format;
    if !matches!(cli.command, Command::Challenge(_)) {
        rows.of_rows()?; // before anything is done
    }
    let format = rows.of_documents();
    match cli.command {
        // these print rows, or some of their commands do
        Command::Rank(args) => commands::rank::run(&args, rows),
        Command::Challenge(command) => Box::pin(commands::challenge::run(command, rows)).await,
        Command::Dataset(command) => commands::dataset::run(command, rows).await,
        Command::Baseline(args) => commands::baseline::run(args, rows).await,
        Command::Dynamic(command) => commands::dynamic::run(command, rows).await,
        Command::Score(args) => commands::participant::score::score(args, rows).await,
        Command::Validate(args) => commands::participant::score::validate(args, rows).await,
        Command::Verify(args) => commands::verify::run(args, rows).await,
        Command::Audit(args) => commands::audit::run(args, rows).await,
        #[cfg(feature = "closed")]
        Command::Closed(command) => Box::pin(commands::participant::closed::run(command, rows)).await,
        #[cfg(feature = "cloud")]
        Command::Online(command) => Box::pin(commands::online::run(*command, rows)).await,
        #[cfg(feature = "local")]
        Command::Demo(args) => commands::demo::run(args, rows).await,

        #[cfg(feature = "local")]
        Command::Local(args) => commands::local::run(args, format?).await,
        Command::Layouts => {
            println!("{}", registry::layouts());
            Ok(Done::Fine)
        }
        Command::Completions { shell } => {
            format?; // it prints a script
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "dataperf", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(Done::Fine)
        }
    }
}

#[cfg(all(test, feature = "local"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The commands in a document's blocks of shell, without what the shell does with them.
    fn commands(document: &str) -> Vec<String> {
        let mut commands = Vec::new();
        for block in document.split("```sh\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default().replace("\\\n", " ");
            for line in block.lines() {
                let program = line.split(' ').next().unwrap_or_default();
                if program.rsplit('/').next() == Some("dataperf") {
                    let ends = [" #", " >", " |", " &", " <", ";"];
                    let end = ends.iter().filter_map(|end| line.find(end)).min();
                    commands.push(line[..end.unwrap_or(line.len())].to_owned());
                }
            }
        }
        commands
    }

    /// Splits a command into words like a shell; quoted text is one word.
    fn words(command: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for c in command.chars() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (None, c) if c.is_whitespace() => words.push(String::new()),
                (_, c) => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_command_in_the_documents_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut documents = vec![root.join("README.md"), root.join("infra/README.md")];
        for folder in ["docs", "docs/decisions"] {
            let entries = fs::read_dir(root.join(folder)).unwrap();
            let files = entries.map(|entry| entry.unwrap().path());
            documents.extend(files.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
        }
        let mut n_commands = 0;
        for document in documents {
            for command in commands(&fs::read_to_string(&document).unwrap()) {
                let command = command.replace(" ID", " 0123456789abcdef0123456789abcdef");
                let command = command.replace("BENCHMARK", "speech-selection");
                let understood = Cli::try_parse_from(words(&command));
                let is_help = |error: &clap::Error| !error.use_stderr();
                assert!(
                    understood.as_ref().err().is_none_or(is_help),
                    "`{command}` in {}: {}",
                    document.display(),
                    understood.unwrap_err()
                );
                n_commands += 1;
            }
        }
        assert!(n_commands >= 30, "{n_commands}");
    }
}
