//! What the functions of collections share, in which people submit items and raters judge them: settling
//! files line by line, the rules in memory, external services, raters, daily allowances, the queue, verdicts,
//! the index of duplicates, disqualifications, decisions, standings of submitters, and secrets. Each brings
//! its [`Collection`]: the words for its items in the table, and what follows from its lines.

mod allowance;
mod anew;
mod collection;
mod deciding;
mod decisions;
mod disqualified;
mod files;
mod items;
mod json;
mod judging;
pub mod outside;
mod places;
mod raters;
mod reservation;
mod rules;
mod scores;
mod secrets;
mod space;
mod standings;
mod verdicts;
mod versions;

pub use allowance::{Allowance, BEGUN_A_DAY, Taken, Taking, give_back};
pub use anew::decide_anew;
pub use collection::{Collected, Collection, Decision, Score};
pub use deciding::Deciding;
pub use decisions::{Occasion, Step, count_submitted, counted_in, decide, decided_in, step};
pub use disqualified::{concerned, disqualify, no_more, read_disqualified};
pub use files::{Case, Common, Configuration, Judged, LineFunction, Notes, RESERVE, settle_lines};
pub use items::{Filed, JUDGED, UNJUDGED, duplicate, file, filed, index, items_of, queue, read};
pub use json::{as_json, parsed};
pub use judging::{Judging, no_such_item, refusal, run_verdict, unless_noted};
pub use places::Places;
pub use raters::{is_participant, is_rater, judged_by, name_rater};
pub use reservation::{Reservation, Reserved, Reserving};
pub use rules::{Kept, Rules, RulesOfItem, broken};
pub use scores::publish;
pub use secrets::{Secrets, pseudonym_key};
pub use space::Space;
pub use standings::{Standings, Stands};
pub use verdicts::{Named, is_given, rule, verdicts_on};
pub use versions::version_of;
