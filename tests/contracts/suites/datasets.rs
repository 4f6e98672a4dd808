//! Requirements on tables when a board's scores come from several data sets: the best comes from
//! one of them.

use super::story::{HOSTED, Outcome, Story};
use dataperf::challenge::Ranking;
use dataperf::rows::ranking::Ranked;
use dataperf::table::maintenance::{Maintenance, Revised};
use dataperf::{Digest, Receipt, Timestamp};

/// Less is better in it.
pub(crate) async fn datasets(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let mut story = Story::new(table, benchmark, "data sets", Ranking::Best);
    let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
    story.dataset = one;
    let first = story.submit("ada", 1, Some(0.25)).await?;
    story.submit("bo", 2, Some(0.5)).await?;
    story.dataset = two;
    let second = story.submit("ada", 3, Some(0.75)).await?;
    assert_eq!(
        story.top().await?,
        ["1 bo 0.5", "2 ada 0.75"],
        "the new data set's score stands, though it is the worse one"
    );
    let top = story.ranked(&story.board).await?;
    let dataset = |ranked: &Ranked| ranked.entry.dataset;
    assert_eq!(
        top.iter().map(dataset).collect::<Vec<_>>(),
        [Some(one), Some(two)]
    );
    story.submit("ada", 4, Some(0.875)).await?;
    assert_eq!(
        story.top().await?,
        ["1 bo 0.5", "2 ada 0.75"],
        "the best of its own"
    );
    story.dataset = one;
    story.submit("ada", 5, Some(0.375)).await?;
    assert_eq!(
        story.top().await?,
        ["1 ada 0.25", "2 bo 0.5"],
        "and of the first again, once it is scored with that again"
    );

    let at = Timestamp::from_unix_millis(6);
    table
        .withdraw(benchmark, &first.submission, at, HOSTED.direction, None)
        .await?;
    assert_eq!(
        story.top().await?,
        ["1 ada 0.375", "2 bo 0.5"],
        "the next of the same"
    );

    let run = table.begin_run(&story.board, at).await?;
    story.dataset = two;
    let again = Receipt {
        revision: 2,
        finished_at: at,
        verdict: story.verdict(Some(0.625)),
        ..second
    };
    let revised = table.revise(&again, &HOSTED, &run.id).await?;
    assert_eq!(revised, Revised::Recorded);
    assert_eq!(
        story.top().await?,
        ["1 bo 0.5", "2 ada 0.625"],
        "what is scored again stands by the data set that it is scored with"
    );
    let all = table.series(&story.board).await?;
    let datasets: Vec<_> = all.iter().map(|line| line.dataset).collect();
    assert_eq!(datasets, [Some(one), Some(two), Some(two), Some(one)]);
    Ok(())
}
