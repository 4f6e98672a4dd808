//! The version of a round's scores: that of the rules for its first pair. Later rules do not change
//! it, so no board mixes versions.

use dataperf::ports::PortError;
use dataperf_aws::{Cancelled, Condition, Key, Reader, Retry, SCHEMA, Step, Table, count};

const SCORING: &str = "scoring";

/// The version of a round; a round without one has `of_rules` from now on.
///
/// # Errors
/// [`PortError`].
pub async fn version_of<T>(table: &Table, benchmark: &str, round: &str, of_rules: T) -> Result<T, PortError>
where
    T: Copy + Into<u8> + TryFrom<u8, Error = String>,
{
    let key = Key::new(format!("{benchmark}#{SCORING}"), round);
    let mut retry = Retry::new(format!("scoring version of round `{round}`"));
    loop {
        if let Some(item) = table.item(key.clone()).await? {
            let reader = Reader { item: &item };
            reader.schema()?;
            let number: u8 = reader.number(SCORING)?.unwrap_or_default();
            return number.try_into().map_err(|why| reader.malformed(why));
        }
        let mut item = key.clone().item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert(SCORING.into(), count(of_rules.into().into()));
        let put = table.put(item, Some(Condition::new_item()));
        match table.transact(vec![(Step::Named(SCORING), put)]).await {
            Ok(()) => return Ok(of_rules),
            Err(Cancelled::Condition(_)) => retry.changed().await?, // somebody else was faster
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}
