//! Which cloud a command talks to: AWS by the environment, or the one on this machine.

pub(crate) mod active_boards;
pub(crate) mod api;
pub(crate) mod comparison;
pub(crate) mod connection;
pub(crate) mod known;
pub(crate) mod profile;
pub(crate) mod secret_file;
pub(crate) mod stored_tokens;

use anyhow::{Context as _, Result};
use clap::Args;
use dataperf::board::{Board, Order};
use dataperf::challenge::{Challenge, Ranking};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf_aws::{Clients, Evaluators, ReceiptKeys, S3Bucket, Service, Table};
use dataperf_hosted::deployment::{DATASETS, RESULTS, SIGNING_KEY, SUBMISSIONS, TABLE};
#[cfg(feature = "local")]
use dataperf_local::LocalCloud;

pub(crate) use crate::clock::now;

use crate::arguments::given::is_given;
use crate::cloud::profile::{Profile, profile};
use crate::hosted::descriptor;

/// The key of a cloud on one machine.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AccessKey {
    /// The resources that requests name.
    pub(crate) id: String,
    /// The credentials that sign requests.
    pub(crate) secret: String,
}

impl Default for AccessKey {
    /// The key that everybody knows.
    fn default() -> Self {
        let known = || "local".to_owned();
        Self {
            id: known(),
            secret: known(),
        }
    }
}

impl std::fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AccessKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The default ports of `dataperf local`.
pub(crate) const S3_PORT: u16 = 9000;
pub(crate) const DYNAMODB_PORT: u16 = 8000;
pub(crate) const LAMBDA_PORT: u16 = 9001;

/// Options of every command that talks to a cloud.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = crate::arguments::groups::CONNECTION)]
pub(crate) struct CloudArgs {
    /// local, aws, an address or a profile
    #[arg(long, env = "DATAPERF_CLOUD", value_name = "CLOUD", value_parser = boxed_profile)]
    cloud: Option<Box<Profile>>,
    /// The same as `--cloud local`
    #[arg(long, env = "DATAPERF_LOCAL")]
    local: bool,
    /// S3's address
    #[arg(long, value_name = "URL")]
    s3_endpoint: Option<String>,
    /// DynamoDB's address
    #[arg(long, value_name = "URL")]
    dynamodb_endpoint: Option<String>,
    /// Lambda's address
    #[arg(long, value_name = "URL")]
    lambda_endpoint: Option<String>,
    /// The key of a local cloud that has its own
    #[arg(long, env = "DATAPERF_LOCAL_KEY", value_name = "ID:SECRET", hide_env_values = true, value_parser = access_key)]
    local_key: Option<AccessKey>,
    /// How the functions' names begin
    #[arg(long, env = "DATAPERF_FUNCTION_PREFIX", value_name = "NAME-")]
    functions_prefix: Option<String>,
    /// The bucket of submissions
    #[arg(long, env = "DATAPERF_SUBMISSIONS_BUCKET", default_value = SUBMISSIONS, value_name = "NAME")]
    pub(crate) submissions_bucket: String,
    /// The bucket of frozen data sets
    #[arg(long, env = "DATAPERF_DATASETS_BUCKET", default_value = DATASETS, value_name = "NAME")]
    pub(crate) datasets_bucket: String,
    /// The bucket of receipts
    #[arg(long, env = "DATAPERF_RESULTS_BUCKET", default_value = RESULTS, value_name = "NAME")]
    pub(crate) results_bucket: String,
    /// The table of leaderboards
    #[arg(long, env = "DATAPERF_TABLE", default_value = TABLE, value_name = "NAME")]
    pub(crate) table: String,
    /// How aliases of signing keys begin
    #[arg(long, env = "DATAPERF_SIGNING_KEY", default_value = SIGNING_KEY, value_name = "alias/NAME")]
    pub(crate) signing_key: String,
}

impl CloudArgs {
    /// A cloud that this program runs.
    #[cfg(feature = "local")]
    pub(crate) fn for_local(cloud: &LocalCloud) -> Self {
        Self {
            cloud: None,
            local: true,
            s3_endpoint: Some(cloud.s3_endpoint().into()),
            dynamodb_endpoint: Some(cloud.dynamodb_endpoint().into()),
            lambda_endpoint: Some(cloud.lambda_endpoint().into()),
            local_key: Some(AccessKey {
                id: cloud.organizer().id.clone(),
                secret: cloud.organizer().secret.clone(),
            }),
            functions_prefix: None,
            submissions_bucket: SUBMISSIONS.into(),
            datasets_bucket: DATASETS.into(),
            results_bucket: RESULTS.into(),
            table: TABLE.into(),
            signing_key: SIGNING_KEY.into(),
        }
    }

    fn is_local(&self) -> bool {
        let endpoints = [&self.s3_endpoint, &self.dynamodb_endpoint, &self.lambda_endpoint];
        self.local || endpoints.iter().any(|endpoint| endpoint.is_some())
    }

    /// Applies `--cloud` or `--local`. Options override it. It overrides the variables, which may
    /// describe another installation: names of two installations are never mixed.
    fn resolved(mut self) -> Result<Self> {
        let Some(chosen) = self.chosen() else {
            return Ok(self);
        };
        if is_given("cloud") && !is_given("local") {
            self.local = false; // what the variable says
        }
        if chosen.is_of_environment() {
            return Ok(self);
        }
        let page = chosen.page().unwrap_or_default();
        let chosen = chosen.learnt()?.with_context(|| {
            format!(
                "`{page}` is not the page of a local cloud, and this command needs the organizer's AWS keys: choose the cloud with `--cloud aws`, or by a \
                 profile with the names that `sam deploy` printed"
            )
        })?;
        self.local |= chosen.local;
        let endpoints = [
            (&mut self.s3_endpoint, chosen.s3_endpoint),
            (&mut self.dynamodb_endpoint, chosen.dynamodb_endpoint),
            (&mut self.lambda_endpoint, chosen.lambda_endpoint),
        ];
        for (own, learnt) in endpoints {
            *own = own.take().or(learnt);
        }
        if !is_given("functions_prefix") {
            self.functions_prefix = chosen.functions_prefix;
        }
        let names = [
            (
                "submissions_bucket",
                &mut self.submissions_bucket,
                chosen.submissions_bucket,
                SUBMISSIONS,
            ),
            (
                "datasets_bucket",
                &mut self.datasets_bucket,
                chosen.datasets_bucket,
                DATASETS,
            ),
            (
                "results_bucket",
                &mut self.results_bucket,
                chosen.results_bucket,
                RESULTS,
            ),
            ("table", &mut self.table, chosen.table, TABLE),
            (
                "signing_key",
                &mut self.signing_key,
                chosen.signing_key,
                SIGNING_KEY,
            ),
        ];
        for (option, own, chosen, unless_set) in names {
            if !is_given(option) {
                *own = chosen.unwrap_or_else(|| unless_set.to_owned());
            }
        }
        Ok(self)
    }

    /// The value of `--cloud` or `--local`. An option on the command line overrides the other
    /// option's variable.
    pub(crate) fn chosen(&self) -> Option<Profile> {
        let [has_cloud, has_local] = ["cloud", "local"].map(is_given);
        match self.cloud.as_ref().filter(|_| has_cloud || !has_local) {
            Some(choice) => Some((**choice).clone()),
            None => self.local.then(Profile::of_local),
        }
    }

    /// Keeps the addresses that a page has.
    pub(crate) fn learn(&mut self, learnt: Profile) {
        if self.cloud.is_some() {
            self.cloud = Some(Box::new(learnt));
        }
    }

    /// Whether an option or a variable says something that only keys need.
    pub(crate) fn names_parts(&self) -> bool {
        let names = [
            (&self.submissions_bucket, SUBMISSIONS),
            (&self.datasets_bucket, DATASETS),
            (&self.results_bucket, RESULTS),
            (&self.table, TABLE),
            (&self.signing_key, SIGNING_KEY),
        ];
        let endpoints = [&self.s3_endpoint, &self.dynamodb_endpoint, &self.lambda_endpoint];
        names.iter().any(|(name, usual)| name != usual)
            || endpoints.iter().any(|endpoint| endpoint.is_some())
            || self.functions_prefix.is_some()
            || self.local_key.is_some()
    }

    /// Connects with keys; nothing is sent to AWS yet.
    ///
    /// # Errors
    /// If the page that `--cloud` names is not a local cloud's.
    pub(crate) async fn connect(self) -> Result<Cloud> {
        Ok(self.resolved()?.connect_to().await)
    }

    async fn connect_to(self) -> Cloud {
        let is_local = self.is_local();
        let clients = if is_local {
            let at = |port: u16| format!("http://127.0.0.1:{port}");
            let s3 = self.s3_endpoint.clone().unwrap_or_else(|| at(S3_PORT));
            let dynamodb = self
                .dynamodb_endpoint
                .clone()
                .unwrap_or_else(|| at(DYNAMODB_PORT));
            let key = self.local_key.clone().unwrap_or_default();
            Clients::at(&s3, &dynamodb, &key.id, &key.secret).await
        } else {
            Clients::from_environment().await
        };
        Cloud { clients, names: self }
    }
}

/// A cloud to talk to.
#[derive(Debug, Clone)]
pub(crate) struct Cloud {
    pub(crate) clients: Clients,
    pub(crate) names: CloudArgs,
}

impl Cloud {
    /// The table.
    pub(crate) fn leaderboards(&self) -> Table {
        Table::new(self.clients.dynamodb.clone(), &self.names.table)
    }

    /// The region of the submissions bucket, and the address that forms are sent to.
    pub(crate) fn submissions_address(&self) -> (String, String) {
        let names = &self.names;
        let (region, bucket) = (
            self.clients.region().unwrap_or("us-east-1"),
            &names.submissions_bucket,
        );
        let url = if names.is_local() {
            let usual = format!("http://127.0.0.1:{S3_PORT}");
            format!("{}/{bucket}", names.s3_endpoint.as_ref().unwrap_or(&usual))
        } else {
            format!("https://{bucket}.s3.{region}.{}/", self.suffix())
        };
        (region.to_owned(), url)
    }

    fn suffix(&self) -> &'static str {
        if self.partition() == "aws-cn" {
            "amazonaws.com.cn"
        } else {
            "amazonaws.com"
        }
    }

    /// The part of AWS that the region is in, as ARNs name it.
    pub(crate) fn partition(&self) -> &'static str {
        match self.clients.region().unwrap_or_default() {
            region if region.starts_with("cn-") => "aws-cn",
            region if region.starts_with("us-gov-") => "aws-us-gov",
            _ => "aws",
        }
    }

    /// The benchmarks' functions.
    pub(crate) fn evaluators(&self) -> Evaluators {
        let names = &self.names;
        let is_local = names.is_local();
        let endpoint = self.lambda_endpoint();
        let usual = if is_local { "" } else { "dataperf-" };
        let prefix = names.functions_prefix.as_deref().unwrap_or(usual);
        Evaluators::new(self.clients.lambda(endpoint.as_deref()), prefix)
    }

    /// The endpoints of Lambda, Secrets Manager and KMS, if not those of the environment.
    pub(crate) fn lambda_endpoint(&self) -> Option<String> {
        let local = self
            .names
            .is_local()
            .then(|| format!("http://127.0.0.1:{LAMBDA_PORT}"));
        self.names.lambda_endpoint.clone().or(local)
    }

    /// KMS.
    pub(crate) fn kms(&self) -> Service {
        self.clients.kms(self.lambda_endpoint().as_deref())
    }

    /// The keys that receipts are signed with.
    pub(crate) fn signer(&self) -> ReceiptKeys {
        ReceiptKeys::new(self.kms(), &self.names.signing_key)
    }

    /// The bucket of submissions.
    pub(crate) fn submissions(&self) -> S3Bucket {
        S3Bucket::new(self.clients.s3.clone(), &self.names.submissions_bucket)
    }

    /// How a board ranks.
    pub(crate) async fn order(&self, board: &Board) -> Result<Order> {
        let challenge = Challenge::published(&self.datasets(), &board.benchmark).await?;
        let chosen = challenge.map_or_else(Ranking::default, |challenge| {
            challenge.ranking(&board.leaderboard)
        });
        let hosted = descriptor(&board.benchmark)?;
        Ok(Order {
            direction: hosted.direction,
            ranking: hosted.ranking(chosen),
        })
    }

    /// Projects the rows of a board from its facts.
    pub(crate) async fn project(&self, board: &Board) -> Result<()> {
        let hosted = descriptor(&board.benchmark)?;
        let (table, datasets) = (self.leaderboards(), self.datasets());
        table.project_now(board, hosted, &datasets).await?;
        if hosted.kinds.is_empty() {
            // somebody may have compared the rows that were there before
            table.mark_to_compare(board).await?;
        }
        Ok(())
    }

    /// Projects the rows of all boards of a benchmark by its present rules, and compares the boards.
    pub(crate) async fn project_all(&self, benchmark: &str) -> Result<()> {
        let (table, is_compared) = (self.leaderboards(), descriptor(benchmark)?.kinds.is_empty());
        let boards = table.boards(benchmark).await?;
        // first, so that the caretaker completes the work that is interrupted here
        for board in &boards {
            if !board.is_final() {
                table.note_rules_changed(board).await?;
            }
            if is_compared {
                table.mark_to_compare(board).await?;
            }
        }
        let mut failed = None;
        for board in boards.iter().filter(|board| !board.is_final()) {
            let projected = self.project(board).await;
            failed = failed.or(projected.err());
        }
        failed.map_or(Ok(()), Err)
    }

    /// The bucket of frozen data sets.
    pub(crate) fn datasets(&self) -> S3Bucket {
        S3Bucket::new(self.clients.s3.clone(), &self.names.datasets_bucket)
    }

    /// The bucket of receipts.
    pub(crate) fn results(&self) -> S3Bucket {
        S3Bucket::new(self.clients.s3.clone(), &self.names.results_bucket)
    }
}

/// Reads what `--cloud` says.
fn boxed_profile(text: &str) -> Result<Box<Profile>, String> {
    profile(text).map(Box::new)
}

/// Reads a key of the form `ID:SECRET`.
pub(crate) fn access_key(text: &str) -> Result<AccessKey, String> {
    let is_plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
    match text.split_once(':') {
        Some((id, secret)) if is_plain(id) && is_plain(secret) && !id.contains('/') => Ok(AccessKey {
            id: id.to_owned(),
            secret: secret.to_owned(),
        }),
        _ => Err("a key is `ID:SECRET`, both of letters, digits and signs, and no `/` in the id".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_an_id_and_a_secret() {
        let key = access_key("me:a:b/c");
        assert_eq!(
            key.map(|key| (key.id, key.secret)),
            Ok(("me".into(), "a:b/c".into()))
        );
        for wrong in [
            "",
            "me",
            ":secret",
            "me:",
            "a/b:secret",
            "me:two words",
            "mé:secret",
        ] {
            assert!(access_key(wrong).is_err(), "{wrong}");
        }
    }
}
