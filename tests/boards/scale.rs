//! Boards of many submitters: what a question costs does not grow with the table.
//!
//! `DATAPERF_SCALE=1000000 cargo test --release --workspace scale -- --nocapture` makes a board of as many
//! submissions, by a tenth as many submitters, and prints how long each question takes.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue as Sent;
use dataperf::ports::PortError;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Direction, RankKey, SubmissionId, Timestamp};
use dynoxide::{AttributeValue, Database, ImportOptions, Item};

use crate::support::project::{BENCHMARK, good};
use crate::support::world::{World, board};

pub(crate) const SUBMISSIONS_EACH: usize = 10;
const FIRST_MILLIS: i64 = 1_700_000_000_000;
const ITEMS_AT_ONCE: usize = 20_000;
const TOP: usize = 50;
const PAGE: usize = 20;

/// One submission of the made-up board.
struct Made {
    submitter: String,
    id: SubmissionId,
    at: Timestamp,
    score: f64,
}

impl Made {
    fn new(n: usize, n_submitters: usize) -> Self {
        let submitter = format!("submitter-{:06}", n % n_submitters);
        let id = SubmissionId::derive("submissions", &submitter, &n.to_string());
        let drawn = u32::from_str_radix(&id.as_str()[..6], 16).unwrap();
        let at = Timestamp::from_unix_millis(FIRST_MILLIS + i64::try_from(n).unwrap() * 1000);
        Self {
            submitter,
            id,
            at,
            score: f64::from(drawn) / f64::from(1 << 24),
        }
    }

    fn rank(&self) -> RankKey {
        RankKey::new(self.score, Direction::HigherIsBetter, self.at, &self.id).unwrap()
    }

    /// An item as the functions write it, with this submission in it.
    fn item(&self, template: &HashMap<String, Sent>) -> Item {
        let mut item: Item = template
            .iter()
            .map(|(name, value)| (name.clone(), converted(value)))
            .collect();
        let kind = text(template, "pk").split('#').nth(1).unwrap().to_owned();
        let order = format!("{}#{}", self.at, self.id);
        let (pk, sk) = match kind.as_str() {
            "submission" => (
                format!("{BENCHMARK}#submission#{}", self.id),
                "submission".to_owned(),
            ),
            "submitter" => (format!("{BENCHMARK}#submitter#{}", self.submitter), order),
            "facts" => (
                text(template, "pk").to_owned(),
                format!("{}#{order}", self.submitter),
            ),
            "rows" => (text(template, "pk").to_owned(), self.submitter.clone()),
            other => panic!("a submission has no item `{other}`"),
        };
        let mut set = |name: &str, value: String| {
            if item.contains_key(name) {
                item.insert(name.to_owned(), AttributeValue::S(value));
            }
        };
        set("pk", pk);
        set("sk", sk);
        set("id", self.id.to_string());
        set("submitter", self.submitter.clone());
        set("received_at", self.at.to_string());
        set("rank", self.rank().to_string());
        item.insert("score".into(), AttributeValue::N(self.score.to_string()));
        item
    }
}

fn text<'a>(item: &'a HashMap<String, Sent>, name: &str) -> &'a str {
    item[name].as_s().unwrap()
}

fn converted(value: &Sent) -> AttributeValue {
    match value {
        Sent::S(text) => AttributeValue::S(text.clone()),
        Sent::N(digits) => AttributeValue::N(digits.clone()),
        other => panic!("the table has strings and numbers only, not {other:?}"),
    }
}

/// Adds made-up submissions like the only one that there is.
pub(crate) async fn fill(world: &mut World, n_submissions: usize) {
    let mut templates = world.items().await;
    templates.retain(|item| {
        !["boards", "names", "projections", "public"]
            .iter()
            .any(|kind| text(item, "pk").ends_with(&format!("#{kind}")))
    });
    assert_eq!(templates.len(), 4, "submission, line of history, fact, row");
    world.cloud.shutdown().await;
    let database = world.cloud.data_dir().join("dynamodb.sqlite");
    import(&database, &templates, n_submissions);
    world.restart().await;
}

/// Puts the items of made-up submissions straight into the table's file, while the cloud is stopped.
fn import(path: &Path, templates: &[HashMap<String, Sent>], n_submissions: usize) {
    let database = Database::new(path.to_str().unwrap()).unwrap();
    database.enable_bulk_loading().unwrap();
    let n_submitters = n_submissions / SUBMISSIONS_EACH;
    let mut best: HashMap<String, Made> = HashMap::new();
    let mut items = Vec::new();
    let import = |items: &mut Vec<Item>| {
        let options = ImportOptions::default();
        database
            .import_items("dataperf", std::mem::take(items), options)
            .unwrap();
    };
    for n in 0..n_submissions {
        let made = Made::new(n, n_submitters);
        let of_submission = templates
            .iter()
            .filter(|template| !text(template, "pk").contains("#rows#"));
        items.extend(of_submission.map(|template| made.item(template)));
        if best
            .get(&made.submitter)
            .is_none_or(|best| made.rank() < best.rank())
        {
            best.insert(made.submitter.clone(), made);
        }
        if items.len() >= ITEMS_AT_ONCE {
            import(&mut items);
        }
    }
    let row = templates
        .iter()
        .find(|template| text(template, "pk").contains("#rows#"))
        .unwrap();
    let mut rows: Vec<Item> = best.values().map(|made| made.item(row)).collect();
    rows.sort_by_key(|row| format!("{:?}", row["sk"]));
    import(&mut items);
    import(&mut rows);
    database.disable_bulk_loading().unwrap();
}

const NEW_SUBMISSION: &str = "a new submission";

/// The request, how many calls it took, how many rows came, and how long it took each time.
struct Answer {
    question: &'static str,
    n_requests: usize,
    n_rows: usize,
    times: Vec<Duration>,
}

async fn ask(
    world: &World,
    question: &'static str,
    n_times: usize,
    answer: impl AsyncFn(usize) -> Result<usize, PortError>,
) -> Answer {
    let (before, mut times, mut n_rows) = (world.n_requests(None).await, Vec::new(), 0);
    for n in 0..n_times {
        let began = Instant::now();
        n_rows = answer(n).await.unwrap();
        times.push(began.elapsed());
    }
    times.sort();
    Answer {
        question,
        n_requests: (world.n_requests(None).await - before) / n_times,
        n_rows,
        times,
    }
}

/// Asks everything of a board of `n_submissions`.
async fn answers(n_submissions: usize, n_times: usize) -> Vec<Answer> {
    let mut world = World::new().await;
    let sent = world
        .put(&format!("{BENCHMARK}/en-25/template/x.json"), good(0))
        .await;
    world.only_receipt(&sent).await;
    fill(&mut world, n_submissions).await;
    let table = world.leaderboards();
    let made = |n: usize| Made::new(n * 7919 % n_submissions, n_submissions / SUBMISSIONS_EACH);
    vec![
        ask(&world, "top 50", n_times, async |_| {
            Ok(table.top(&board("en-25"), TOP).await?.len())
        })
        .await,
        ask(&world, "page of a history", n_times, async |n| {
            Ok(table.history(BENCHMARK, &made(n).submitter, PAGE).await?.len())
        })
        .await,
        ask(&world, "one submission", n_times, async |n| {
            Ok(usize::from(
                table.submission(BENCHMARK, &made(n).id).await?.is_some(),
            ))
        })
        .await,
        ask(&world, "boards", n_times, async |_| {
            Ok(table.boards(BENCHMARK).await?.len())
        })
        .await,
        ask(&world, "unfinished", n_times, async |_| {
            Ok(table.unfinished(BENCHMARK).await?.len())
        })
        .await,
        ask(&world, NEW_SUBMISSION, n_times.min(20), async |n| {
            let sent = world
                .put(&format!("{BENCHMARK}/en-25/new-{n}/x.json"), good(0))
                .await;
            world.settle().await;
            Ok(usize::from(
                table.submission(BENCHMARK, &sent.id()).await?.is_some(),
            ))
        })
        .await,
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_question_costs_more_on_a_larger_board() {
    let (small, large) = (answers(600, 3).await, answers(6_000, 3).await);
    for (small, large) in small.iter().zip(&large) {
        let cost = |answer: &Answer| (answer.n_requests, answer.n_rows);
        if small.question == NEW_SUBMISSION {
            // a small board is compared with each submission, a large one once a minute
            assert!(cost(large) <= cost(small), "{:?} {:?}", cost(small), cost(large));
        } else {
            assert_eq!(cost(small), cost(large), "{}", small.question);
        }
    }
    let costs: Vec<_> = large
        .iter()
        .map(|answer| (answer.question, answer.n_requests, answer.n_rows))
        .collect();
    assert_eq!(
        costs[..5],
        [
            ("top 50", 1, 50),
            ("page of a history", 1, 10),
            ("one submission", 1, 1),
            ("boards", 1, 1),
            ("unfinished", 16, 0), // a query for each of their partitions
        ]
    );
    if let Ok(n) = std::env::var("DATAPERF_SCALE") {
        let answers = answers(n.parse().unwrap(), 50).await;
        for Answer { question, times, .. } in &answers {
            let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e3;
            println!(
                "{question}: median {:.2} ms, 95 of 100 within {:.2} ms, slowest {:.2} ms",
                at(50),
                at(95),
                at(100)
            );
        }
    }
}
