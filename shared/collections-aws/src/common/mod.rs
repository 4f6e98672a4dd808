//! Code shared by the functions of collections, to which people submit items that raters judge. It
//! settles files line by line and caches rules. It calls external services, and stores raters,
//! allowances, the queue, verdicts, duplicates, disqualifications, decisions, standings and
//! secrets. Each collection implements [`Collection`]: the words for its items in the table, and
//! the effects of its lines.

mod collection;
mod disqualified;
pub mod external_services;
mod files;
mod items;
mod judging;
mod limits;
mod rules;
mod scores;
mod secrets;
mod space;

pub use collection::{Collected, Collection, Decision, Notes, Score};
pub use disqualified::{disqualify, no_more, read_disqualified};
pub use files::{Case, Common, Configuration, Judged, LineFunction, RESERVE, serve_lines};
pub use items::json::{as_json, parsed};
pub use items::{Filed, JUDGED, UNJUDGED, duplicate, file, filed, index, items_of, queue, read};
pub use judging::deciding::Deciding;
pub use judging::decisions::{Occasion, count_submitted, counted_in, decide, decided_in};
pub use judging::raters::{is_participant, is_rater, judged_by, name_rater};
pub use judging::redecide::{concerned, decide_again};
pub use judging::verdicts::{Named, is_given, rule, verdicts_on};
pub use judging::{Judging, no_such_item, refusal, run_verdict, unless_noted};
pub use limits::allowance::{Allowance, BEGUN_A_DAY, Taken, Taking, give_back};
pub(crate) use limits::counted;
pub use limits::reservation::{Reservation, Reserved, Reserving};
pub use rules::{Kept, Rules, RulesOfItem, broken};
pub use scores::places::Places;
pub use scores::publish;
pub use scores::standings::{Progress, Standings};
pub use scores::steps::{Step, step};
pub use scores::versions::version_of;
pub use secrets::{Secrets, pseudonym_key};
pub use space::Space;
