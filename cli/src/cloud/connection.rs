//! How a command reaches a cloud: with the organizer's keys, or over its page with a token. It is chosen once, for all that the command reads.

use anyhow::{Context, Result, bail};
use dataperf::challenge::{Announcement, Challenge};
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{MAX_RECEIPT_BYTES, SubmissionId, SubmitterName};

use crate::cloud::active_boards::Boards;
use crate::cloud::api::{Page, Token, is_private};
use crate::cloud::known::{self, Known};
use crate::cloud::profile::Profile;
use crate::cloud::stored_tokens::{Logins, VARIABLE};
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;

/// How a command reaches a cloud.
#[derive(Debug, Clone)]
pub(crate) enum Connection {
    /// With keys for its buckets and its table.
    Keys(Box<Cloud>),
    /// Over its page.
    Page(Page),
}

impl CloudArgs {
    /// Chooses how to reach the cloud. A token is used for the page that `--cloud` names, or for
    /// the page of the last login. Keys are used for everything else, and whenever an option or a
    /// variable names a bucket, an address or a key.
    ///
    /// # Errors
    /// If the page does not answer, or a token is malformed.
    pub(crate) async fn choose(mut self) -> Result<Connection> {
        if let Some(page) = self.page()? {
            return Ok(Connection::Page(page));
        }
        // the public may read a page without a token
        if let Some(chosen) = self.chosen().filter(|_| !self.names_parts())
            && let Some(page) = chosen.page()
        {
            match chosen.learnt()? {
                Some(learnt) => self.learn(learnt),
                None => return Ok(Connection::Page(Page::new(page, None))),
            }
        }
        Ok(Connection::Keys(Box::new(self.connect().await?)))
    }

    /// The page, where a token for it is at hand.
    fn page(&self) -> Result<Option<Page>> {
        let chosen = self.chosen();
        if self.names_parts() || chosen.as_ref().is_some_and(Profile::is_of_environment) {
            return Ok(None);
        }
        if chosen.as_ref().is_some_and(|chosen| chosen.page().is_none()) {
            return Ok(None);
        }
        let logins = Logins::stored()?;
        let given = std::env::var(VARIABLE)
            .ok()
            .filter(|token| !token.trim().is_empty());
        let given: Option<Token> = given
            .map(|token| token.parse())
            .transpose()
            .with_context(|| format!("`{VARIABLE}` can't be used"))?;
        // a token of the environment is for a page that is named, not for that of some earlier login
        let url = match &chosen {
            Some(chosen) => chosen.page(),
            None if given.is_some() => None,
            None => logins.last().cloned(),
        };
        let Some(url) = url else {
            if given.is_some() && chosen.is_none() {
                bail!(
                    "{VARIABLE} is set, but not the page that it is for: add `--cloud https://PAGE`, or set DATAPERF_CLOUD. With `--cloud aws` commands use \
                     AWS keys"
                );
            }
            return Ok(None);
        };
        if given.is_some() && !is_private(&url) {
            eprintln!(
                "warning: {VARIABLE} goes to `{url}` in clear text: everybody on the network between can read it"
            );
        }
        let token = given.or_else(|| logins.token(&url).cloned());
        Ok(token.map(|token| Page::new(url, Some(token))))
    }
}

impl Connection {
    /// The cloud for what only the organizer does, with keys.
    ///
    /// # Errors
    /// If it is reached over a page.
    pub(crate) fn keys(&self) -> Result<&Cloud> {
        match self {
            Self::Keys(cloud) => Ok(cloud),
            Self::Page(page) => bail!(
                "only the organizer can do this, with AWS keys, and `{}` is used with a token: choose the cloud with `--cloud aws`, with a profile, or with \
                 `--local-key local:local` for a local cloud",
                page.url()
            ),
        }
    }

    /// The token's owner; `None` with keys, and with the organizer's token.
    pub(crate) async fn own_name(&self) -> Result<Option<SubmitterName>> {
        match self {
            Self::Keys(_) => Ok(None),
            Self::Page(page) => Ok(page.who().await?.submitter),
        }
    }

    /// A submission, with as much of its receipt as may be shown.
    pub(crate) async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>> {
        let page = match self {
            Self::Keys(cloud) => return Ok(cloud.leaderboards().submission(benchmark, id).await?),
            Self::Page(page) => page,
        };
        let Some(answer) = page.submission(benchmark, id).await? else {
            return Ok(None);
        };
        let receipt = if answer.line.has_ended() {
            let receipt = page.receipt(benchmark, id).await?;
            Some(
                serde_json::from_slice(&receipt)
                    .with_context(|| format!("the receipt of `{id}` is malformed"))?,
            )
        } else {
            None
        };
        Ok(Some(answer.stored(benchmark, receipt)))
    }

    /// The receipt of a submission that has ended, as it is stored or sent.
    pub(crate) async fn receipt(&self, benchmark: &str, id: &SubmissionId) -> Result<Vec<u8>> {
        let cloud = match self {
            Self::Page(page) => return page.receipt(benchmark, id).await,
            Self::Keys(cloud) => cloud,
        };
        let stored = cloud.leaderboards().submission(benchmark, id).await?;
        let Some(receipt) = stored.and_then(|stored| stored.receipt) else {
            bail!("submission `{id}` has no receipt yet: it is still being evaluated");
        };
        let key = receipt.object_key();
        match cloud.results().get(&key, None, MAX_RECEIPT_BYTES).await? {
            Got::Object(object) => Ok(object.bytes.to_vec()),
            Got::Missing => bail!("the bucket has no receipt `{key}`: `dataperf redrive {id}` writes it"),
            Got::TooLarge { n_bytes } => bail!("the receipt `{key}` has {n_bytes} bytes"),
        }
    }

    /// A submitter's newest `n` uploads, newest first, with steps of scores in between if `with_steps`.
    pub(crate) async fn uploads(
        &self,
        benchmark: &str,
        submitter: &str,
        n: usize,
        with_steps: bool,
    ) -> Result<Vec<Entry>> {
        match self {
            Self::Page(page) if !with_steps => {
                let lines = page.history(benchmark, submitter, n).await?;
                Ok(lines.iter().map(|line| line.entry(benchmark)).collect())
            }
            _ => known::uploads(self.keys()?, benchmark, submitter, n, with_steps).await,
        }
    }

    /// The submission that a text names: its id, or the first digits of it.
    pub(crate) async fn named(&self, benchmark: &str, text: &str) -> Result<Option<SubmissionId>> {
        if let Self::Keys(cloud) = self {
            let named = known::named(cloud, &[benchmark], text).await?;
            return Ok(named.into_iter().next().map(|(_, id)| id));
        }
        if let Ok(id) = text.parse() {
            return Ok(Some(id));
        }
        let Some(own) = self.own_name().await? else {
            bail!("give all 32 digits of the submission's id");
        };
        let uploads = self.uploads(benchmark, own.as_str(), usize::MAX, false).await?;
        let ids = uploads.into_iter().map(|entry| (benchmark, entry.id));
        let named = known::beginning(ids, text)?;
        Ok(named.into_iter().next().map(|(_, id)| id))
    }

    /// Why a benchmark has no submission of this id.
    pub(crate) async fn no_submission(&self, benchmark: &str, id: &str) -> Result<anyhow::Error> {
        match self {
            Self::Keys(cloud) => known::no_submission(cloud, benchmark, id).await,
            Self::Page(_) => Ok(anyhow::anyhow!(
                "{benchmark} has no submission `{id}` of yours: `dataperf status {benchmark}` lists them"
            )),
        }
    }

    /// The digits of a board's scores, where its data set says how many.
    pub(crate) async fn digits_of(&self, benchmark: &str, leaderboard: &str) -> Option<u8> {
        match self {
            Self::Keys(cloud) => {
                let hosted = descriptor(benchmark).ok()?;
                let boards = Boards::read(&cloud.datasets(), hosted).await.ok()?.boards;
                boards.get(leaderboard)?.leaderboard.digits
            }
            Self::Page(page) => page.benchmark(benchmark).await.ok()?.digits_of(leaderboard),
        }
    }

    /// The names of a benchmark's boards and rounds.
    pub(crate) async fn known(&self, benchmark: &str) -> Result<Known> {
        match self {
            Self::Keys(cloud) => Known::read(cloud, benchmark).await,
            Self::Page(page) => Ok(Known::from_page(benchmark, page.benchmark(benchmark).await?)),
        }
    }

    /// The announcements that participants see by now, newest first.
    pub(crate) async fn announced(&self, benchmark: &str) -> Result<Vec<Announcement>> {
        let cloud = match self {
            Self::Keys(cloud) => cloud,
            Self::Page(page) => {
                let challenge = page.benchmark(benchmark).await?.challenge;
                return Ok(challenge.map_or_else(Vec::new, |challenge| challenge.announcements));
            }
        };
        let challenge = Challenge::published(&cloud.datasets(), benchmark).await?;
        Ok(challenge.map_or_else(Vec::new, |challenge| {
            challenge.announced(now()).cloned().collect()
        }))
    }
}
