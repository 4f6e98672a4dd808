//! A cloud of its own for each test, with the real function in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_s3::primitives::ByteStream;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::signature::Keys;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Receipt, SubmissionId, Timestamp};
use dataperf_aws::{Clients, RANKING_INDEX, ReceiptKeys, S3Bucket, TABLE_KEYS, Table};
use dataperf_hosted::deployment::{
    CURSOR_KEY, DATASETS, RESULTS, SUBMISSIONS, SWEEP_AFTER_SECONDS, TABLE, environment,
};
use dataperf_local::image_service::ImageService;
use dataperf_local::{
    ACCESS_KEY_ID, Bucket, Config, FunctionSpec, Identity, LocalCloud, OutsideService, Policy,
    SECRET_ACCESS_KEY, TableSpec, Trigger,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::support::project::{BENCHMARK, Ran, binary, dataperf, frozen, root, text};

/// How long a test waits before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(15);
use dataperf_hosted::HOSTED;
pub(crate) use dataperf_hosted::deployment::{CARETAKER, SIGNING_KEY, signing_aliases};

/// The bucket of the sample events in `events/`.
pub(crate) const SAMPLE_BUCKET: &str = "dataperf-submissions-111122223333-eu-central-1";

/// The name of the service that makes images.
pub(crate) const IMAGES: &str = "image service";

/// The cloud on one machine, as `dataperf local` configures it, with short waits before retries.
pub(crate) struct World {
    dir: tempfile::TempDir,
    config: Config,
    pub(crate) cloud: LocalCloud,
    /// The service that makes images, with configurable behaviour.
    pub(crate) images: ImageService,
    pub(crate) clients: Clients,
}

/// One upload that was made.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) version: String,
}

impl Sent {
    pub(crate) fn id(&self) -> SubmissionId {
        SubmissionId::derive(&self.bucket, &self.key, &self.version)
    }

    /// The event by which S3 announces it, as of this time.
    pub(crate) fn event(&self, at: &str) -> Value {
        let object =
            json!({ "key": self.key, "size": 1, "eTag": "e", "versionId": self.version, "sequencer": "00" });
        json!({ "Records": [{
            "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": at,
            "eventName": "ObjectCreated:Put", "userIdentity": { "principalId": "P" },
            "requestParameters": { "sourceIPAddress": "127.0.0.1" }, "responseElements": {},
            "s3": { "s3SchemaVersion": "1.0", "configurationId": "c", "bucket": { "name": self.bucket, "arn": "a" }, "object": object }
        }] })
    }
}

fn config(dir: &Path) -> Config {
    let mut config = Config::new(dir.join("cloud"));
    config.buckets = [SUBMISSIONS, SAMPLE_BUCKET, DATASETS, RESULTS]
        .map(Bucket::versioned)
        .into();
    let ([partition, sort], [index, of_index, order]) = (TABLE_KEYS, RANKING_INDEX);
    config.table = Some(TableSpec::new(TABLE, partition, sort).indexed(index, of_index, order));
    config.retry_backoff = vec![Duration::from_millis(30), Duration::from_millis(60)];
    config.signing_aliases = signing_aliases();
    config.http_port = Some(0);
    config.functions = vec![function(BENCHMARK)];
    config
}

fn function(name: &str) -> FunctionSpec {
    let mut environment = environment(name);
    if let Some(key) = environment.get_mut(CURSOR_KEY) {
        *key = "of the tests".into();
    }
    // what is uploaded one after the other is compared without a wait
    environment.insert("DATAPERF_COMPARED_EVERY_MILLIS".into(), "50".into());
    FunctionSpec {
        name: name.into(),
        binary: binary(name),
        trigger: Trigger {
            bucket: SUBMISSIONS.into(),
            prefix: format!("{name}/"),
            suffix: String::new(),
        },
        memory_mb: 1769,
        policy: None,
        timeout: PATIENCE,
        concurrency: 2,
        environment,
    }
}

/// The rights that infra/ gives a function.
pub(crate) fn deployed(function: &str) -> Policy {
    let text = std::fs::read_to_string(root().join("infra/policies.json")).unwrap();
    let mut policies: BTreeMap<String, Policy> = serde_json::from_str(&text).unwrap();
    policies.remove(function).unwrap()
}

/// The keys of a submitter with the policy that all submitters share, by its tags, as `dataperf submitter add --access policy` says them.
pub(crate) fn tagged(tags: &Value) -> Identity {
    let tags = tags.as_object().unwrap();
    let with = |policy: Policy, (key, value): (&String, &Value)| policy.tagged(key, value.as_str().unwrap());
    let name = tags["submitter"].as_str().unwrap();
    Identity {
        access_key: name.into(),
        secret: format!("secret of {name}"),
        policy: tags.iter().fold(deployed("submitter"), with),
    }
}

/// All functions, the caretaker too, with the rights that infra/ gives them.
pub(crate) fn as_deployed(config: &mut Config) {
    with_caretaker(config);
    for function in &mut config.functions {
        function.policy = Some(deployed(&function.name));
    }
}

/// Adds the caretaker: it reads the failures, and sweeps when a test lets it.
pub(crate) fn with_caretaker(config: &mut Config) {
    let mut spec = function(CARETAKER);
    spec.trigger = Trigger::default();
    spec.concurrency = 1;
    spec.environment.insert(SWEEP_AFTER_SECONDS.into(), "0".into());
    config.functions.push(spec);
    config.on_failure = Some(CARETAKER.into());
}

async fn start(config: &Config) -> (LocalCloud, Clients) {
    let cloud = LocalCloud::start(config.clone()).await.unwrap();
    let clients = Clients::at(
        cloud.s3_endpoint(),
        cloud.dynamodb_endpoint(),
        ACCESS_KEY_ID,
        SECRET_ACCESS_KEY,
    )
    .await;
    (cloud, clients)
}

/// Copies a folder. Files that are never changed are linked where the file system can: the data of objects.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        let is_object = path.components().any(|part| part.as_os_str() == "objects");
        if path.is_dir() {
            copy(&path, &copied);
        } else if !is_object || std::fs::hard_link(&path, &copied).is_err() {
            std::fs::copy(&path, &copied).unwrap();
        }
    }
}

/// The data directory of an ended cloud with the active demo data set: it is published once, and
/// each test begins with a copy.
async fn published() -> &'static Path {
    static PUBLISHED: OnceCell<PathBuf> = OnceCell::const_new();
    let publish = || async {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published");
        for earlier in std::fs::read_dir(&all).into_iter().flatten() {
            let earlier = earlier.unwrap().path();
            let process = Path::new("/proc").join(earlier.file_name().unwrap());
            if !process.exists() {
                std::fs::remove_dir_all(earlier).ok(); // another process may be faster
            }
        }
        let world = World::without_dataset(|_| ()).await;
        world.publish(frozen());
        world.cloud.shutdown().await;
        let own = all.join(std::process::id().to_string());
        std::fs::remove_dir_all(&own).ok(); // of an earlier process with this number
        copy(&world.scratch().join("cloud"), &own);
        own
    };
    PUBLISHED.get_or_init(publish).await
}

impl World {
    /// With the demo's data set active.
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// With the demo's data set active, after a change of the configuration.
    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(published().await, &dir.path().join("cloud"));
        Self::at(dir, change).await
    }

    /// Without a data set.
    pub(crate) async fn without_dataset(change: impl FnOnce(&mut Config)) -> Self {
        Self::at(tempfile::tempdir().unwrap(), change).await
    }

    async fn at(dir: tempfile::TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config(dir.path());
        let images = ImageService::default();
        config.outside = vec![OutsideService {
            name: IMAGES,
            port: 0,
            option: "port",
            router: images.router(),
        }];
        change(&mut config);
        let (cloud, clients) = start(&config).await;
        Self {
            dir,
            config,
            cloud,
            images,
            clients,
        }
    }

    /// Stops everything and starts it again on the same directory.
    pub(crate) async fn restart(&mut self) {
        self.cloud.shutdown().await;
        (self.cloud, self.clients) = start(&self.config).await;
    }

    /// Starts again with another configuration.
    pub(crate) async fn change(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        self.restart().await;
    }

    /// A directory for the test's own files.
    pub(crate) fn scratch(&self) -> &Path {
        self.dir.path()
    }

    /// Runs a command of the command line on this cloud.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        let words = args.into_iter().map(|word| word.as_ref().to_owned());
        let words = ["--format", "json"].map(OsString::from).into_iter().chain(words);
        let cloud = words!(
            "--s3-endpoint {} --dynamodb-endpoint {} --lambda-endpoint {}",
            self.cloud.s3_endpoint(),
            self.cloud.dynamodb_endpoint(),
            self.cloud.lambda_endpoint()
        );
        dataperf(words.chain(cloud.into_iter().map(OsString::from)))
    }

    /// Runs a command on this cloud, which ends well.
    pub(crate) fn ran<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        let ran = self.command(args);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    }

    /// Activates a frozen data set.
    pub(crate) fn publish(&self, directory: &Path) -> Value {
        self.ran(["dataset", "publish", text(directory)]).json()
    }

    /// Activates a frozen data set in place of its boards' current ones.
    pub(crate) fn replace(&self, directory: &Path) -> Value {
        self.ran(["dataset", "publish", "--replace", text(directory)])
            .json()
    }

    pub(crate) fn leaderboards(&self) -> Table {
        Table::new(self.clients.dynamodb.clone(), TABLE)
    }

    pub(crate) fn bucket(&self, name: &str) -> S3Bucket {
        S3Bucket::new(self.clients.s3.clone(), name)
    }

    /// The public keys: those that are published, or else the one in use.
    pub(crate) async fn keys(&self) -> Keys {
        let published = self.bucket("datasets").get(Keys::OBJECT_KEY, None, 1 << 20).await;
        if let Got::Object(object) = published.unwrap() {
            return serde_json::from_slice(&object.bytes).unwrap();
        }
        let kms = self.clients.kms(Some(self.cloud.lambda_endpoint()));
        let signer = ReceiptKeys::new(kms, SIGNING_KEY);
        let mut keys = Keys::default();
        for hosted in HOSTED {
            let key = signer.for_benchmark(hosted.id);
            let from_the_start = Timestamp::from_unix_millis(0);
            keys.add(key.public_key(hosted.id, from_the_start).await.unwrap());
        }
        keys
    }

    /// Uploads a submission under any key.
    pub(crate) async fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) -> Sent {
        self.put_into("submissions", key, bytes).await
    }

    pub(crate) async fn put_into(&self, bucket: &str, key: &str, bytes: impl Into<Vec<u8>>) -> Sent {
        let body = ByteStream::from(bytes.into());
        let put = self
            .clients
            .s3
            .put_object()
            .bucket(bucket)
            .key(key)
            .body(body)
            .send()
            .await
            .unwrap();
        Sent {
            bucket: bucket.into(),
            key: key.into(),
            version: put.version_id.expect("the bucket keeps versions"),
        }
    }

    /// Serves the read API's function; where.
    pub(crate) fn serve_read_api(&self) -> String {
        self.serve_function("leaderboards")
    }

    /// Serves a function behind HTTP; where.
    pub(crate) fn serve_function(&self, name: &str) -> String {
        let spec = FunctionSpec {
            trigger: Trigger::default(),
            policy: Some(deployed(name)),
            ..function(name)
        };
        let router = self.cloud.http_function(spec).unwrap();
        assert!(self.cloud.serve_page(router), "the port is free");
        self.cloud.http_endpoint().unwrap().to_owned()
    }

    /// Waits until no invocation waits or runs.
    pub(crate) async fn settle(&self) {
        self.cloud.wait_idle(PATIENCE).await.unwrap();
    }

    /// Lets the caretaker sweep, and waits for what follows.
    pub(crate) async fn sweep(&self) {
        self.cloud.tick(CARETAKER).await.unwrap();
        self.settle().await;
    }

    /// The lines of the functions' logs with one of these texts, and those on sweeps.
    pub(crate) fn logs_about(&self, texts: &[&str]) -> String {
        let logs = self.scratch().join("cloud/logs");
        let mut found = String::new();
        for function in std::fs::read_dir(logs).into_iter().flatten().flatten() {
            for file in std::fs::read_dir(function.path()).into_iter().flatten().flatten() {
                let log = std::fs::read_to_string(file.path()).unwrap_or_default();
                let is_wanted =
                    |line: &&str| line.contains("swept") || texts.iter().any(|text| line.contains(text));
                for line in log.lines().filter(is_wanted) {
                    found.push_str(line);
                    found.push('\n');
                }
            }
        }
        found
    }

    /// An object of the results bucket.
    pub(crate) async fn result(&self, key: &str) -> Vec<u8> {
        match self.bucket("results").get(key, None, 16 << 20).await.unwrap() {
            Got::Object(object) => object.bytes.to_vec(),
            other => panic!("`{key}`: {other:?}"),
        }
    }

    /// Waits until everything of a benchmark has ended, and gives of each upload the receipt that the table has and the one that is stored,
    /// which say the same.
    pub(crate) async fn ended(&self, benchmark: &str, sent: &[Sent]) -> Vec<(Receipt, Receipt)> {
        self.settle().await;
        let table = self.leaderboards();
        let unfinished = table.unfinished(benchmark).await.unwrap();
        let ids: Vec<&str> = unfinished.iter().map(|entry| entry.id.as_str()).collect();
        assert!(ids.is_empty(), "{unfinished:#?}\n{}", self.logs_about(&ids));
        let mut receipts = Vec::new();
        for sent in sent {
            let submission = table.submission(benchmark, &sent.id()).await.unwrap();
            let receipt = submission
                .and_then(|submission| submission.receipt)
                .unwrap_or_else(|| panic!("`{}` has ended", sent.key));
            let stored: Receipt = serde_json::from_slice(&self.result(&receipt.object_key()).await).unwrap();
            assert_eq!(stored.verdict, receipt.verdict);
            receipts.push((receipt, stored));
        }
        receipts
    }

    /// The whole receipt of an upload that has ended, as the table has it.
    pub(crate) async fn whole_receipt(&self, sent: &Sent) -> Receipt {
        let benchmark = sent.key.split('/').next().unwrap();
        let submission = self.leaderboards().submission(benchmark, &sent.id()).await;
        submission.unwrap().unwrap().receipt.expect("it has ended")
    }

    /// A receipt as it is in the results bucket, and its text.
    pub(crate) async fn stored_receipt(&self, receipt: &Receipt) -> (Receipt, String) {
        let text = String::from_utf8(self.result(&receipt.object_key()).await).unwrap();
        (serde_json::from_str(&text).unwrap(), text)
    }

    /// Everything that is exported for everybody, as text; `name` is that of a new folder.
    pub(crate) fn exported(&self, name: &str) -> String {
        let out = self.scratch().join(name);
        self.ran(words!(
            "export {BENCHMARK} --public --as csv --out {}",
            out.display()
        ));
        let files = std::fs::read_dir(out).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        texts.collect::<Vec<_>>().join("\n")
    }

    pub(crate) async fn only_receipt(&self, sent: &Sent) -> Receipt {
        let mut receipts = self.receipts(std::slice::from_ref(sent)).await;
        receipts.remove(&sent.id()).unwrap()
    }

    /// The last error of the one event that failed for good.
    pub(crate) async fn only_failure(&self) -> (Value, Value) {
        self.settle().await;
        let records = self.cloud.on_failure().await.unwrap();
        assert_eq!(records.len(), 1, "{records:#?}");
        let record = &records[0].record;
        (
            record["requestPayload"].clone(),
            record["responsePayload"].clone(),
        )
    }
}

/// A key of a submitter's on `en-25`.
pub(crate) fn key(submitter: &str, n: usize) -> String {
    format!("{BENCHMARK}/en-25/{submitter}/{n}.json")
}

/// The codes of a receipt's reasons.
pub(crate) fn codes(receipt: &Receipt) -> Vec<&str> {
    let reasons = receipt.verdict.reasons.iter();
    reasons.map(|reason| reason.code.as_str()).collect()
}

/// A board outside any challenge.
pub(crate) fn board(leaderboard: &str) -> Board {
    Board {
        benchmark: BENCHMARK.into(),
        leaderboard: leaderboard.into(),
        round: OPEN_ROUND.into(),
    }
}
