//! A function's log of each upload: a line for people and a line of metrics.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::evaluation::workflow::Settled;
use dataperf::{Ending, Upload};
use serde_json::json;

use crate::events::fault::Fault;
use crate::function::resources::Resources;
use crate::runtime::metrics::{Metric, emit};
use crate::runtime::now;
use crate::sdk::meter::Reading;

/// The work on one upload.
pub(crate) struct Work<'a> {
    resources: &'a Resources,
    is_cold: bool,
    began: Instant,
    before: [Reading; 4],
}

impl Resources {
    /// Begins with an upload.
    pub(crate) fn begin(&self) -> Work<'_> {
        Work {
            resources: self,
            is_cold: !self.is_warm.swap(true, Ordering::Relaxed),
            began: Instant::now(),
            before: self.meters.read(),
        }
    }
}

/// How long the parts of an evaluation took.
#[derive(Debug)]
struct Phases {
    is_cold: bool,
    total: Duration,
    ports: [Reading; 4],
}

impl Phases {
    fn new(work: &Work<'_>) -> Self {
        let meters = work.resources.meters.each();
        Self {
            is_cold: work.is_cold,
            total: work.began.elapsed(),
            ports: std::array::from_fn(|port| meters[port].since(work.before[port])),
        }
    }

    fn metrics(&self) -> [Metric; 8] {
        let [submission, dataset, table, receipt] = self.ports;
        let seconds = |reading: Reading| reading.waited.as_secs_f64();
        // calls at once count each, so that the rest may come out below 0
        let waited: f64 = self.ports.iter().map(|port| port.waited.as_secs_f64()).sum();
        let n_bytes: u64 = self.ports.iter().map(|port| port.n_bytes).sum();
        [
            ("EvaluationSeconds", self.total.as_secs_f64()),
            ("SubmissionSeconds", seconds(submission)),
            ("DatasetSeconds", seconds(dataset)),
            ("TableSeconds", seconds(table)),
            ("ReceiptSeconds", seconds(receipt)),
            ("ComputeSeconds", (self.total.as_secs_f64() - waited).max(0.0)),
            ("BytesRead", n_bytes as f64),
            ("ColdStarts", f64::from(u8::from(self.is_cold))),
        ]
    }
}

/// How an ended submission counts.
pub(crate) fn outcome(settled: &Settled) -> [Metric; 5] {
    let ending = settled.receipt.verdict.status;
    let count = |holds: bool| f64::from(u8::from(holds));
    let ended = |as_that: Ending| count(settled.recorded && ending == as_that);
    [
        ("Scored", ended(Ending::Scored)),
        ("Accepted", ended(Ending::Accepted)),
        ("Rejected", ended(Ending::Rejected)),
        ("Failed", ended(Ending::Failed)),
        ("Repeated", count(!settled.recorded)),
    ]
}

/// How a fault counts.
fn counted(fault: &Fault) -> [Metric; 3] {
    let count = |holds: bool| f64::from(u8::from(holds));
    let (organizers, transient) = (FaultKind::Organizer, FaultKind::Transient);
    [
        ("Faults", 1.0),
        ("OrganizerFaults", count(fault.kind == organizers)),
        ("TransientFaults", count(fault.kind == transient)),
    ]
}

impl Resources {
    /// Logs that the follow-up of an ended upload failed this time.
    pub(crate) fn report_follow_up(&self, request_id: &str, settled: &Settled, fault: &Fault) {
        let Settled { receipt, .. } = settled;
        let (benchmark, submission) = (&receipt.verdict.benchmark, &receipt.submission);
        tracing::error!(
            request_id, benchmark, %submission, outcome = "fault", error_type = fault.kind.as_str(), error = %fault,
            "the submission has ended, but a follow-up step failed"
        );
        let about =
            json!({"request_id": request_id, "submission": submission, "error_type": fault.kind.as_str()});
        emit(&self.table, Some(benchmark), &counted(fault), about);
    }
}

impl Work<'_> {
    /// For how long it has gone on.
    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// An upload has ended.
    pub(crate) fn report(&self, request_id: &str, settled: &Settled) {
        let (deployment, phases) = (&self.resources.table, Phases::new(self));
        let Settled { receipt, recorded } = settled;
        let verdict = &receipt.verdict;
        tracing::info!(
            request_id,
            benchmark = verdict.benchmark,
            leaderboard = verdict.leaderboard,
            submitter = receipt.submitter,
            submission = %receipt.submission,
            outcome = verdict.status.as_str(),
            score = verdict.score,
            n_reasons = verdict.n_reasons.unwrap_or(verdict.reasons.len()),
            revision = receipt.revision,
            round = receipt.round,
            repeated = !recorded,
            seconds = phases.total.as_secs_f64(),
            "finished"
        );
        let mut metrics = outcome(settled).to_vec();
        metrics.extend(phases.metrics());
        if *recorded {
            let millis = receipt.finished_at.unix_millis() - receipt.received_at.unix_millis();
            metrics.push(("UploadToVerdictSeconds", millis.max(0) as f64 / 1e3));
        }
        let about = json!({"request_id": request_id, "submission": receipt.submission, "leaderboard": verdict.leaderboard});
        emit(deployment, Some(&verdict.benchmark), &metrics, about);
    }

    /// An upload could not be brought to its end this time.
    pub(crate) fn report_fault(&self, benchmark: &str, request_id: &str, upload: &Upload, fault: &Fault) {
        let (deployment, phases) = (&self.resources.table, Phases::new(self));
        let submission = upload.id();
        tracing::error!(
            request_id, benchmark, %submission, key = upload.key, version = upload.version, outcome = "fault",
            error_type = fault.kind.as_str(), seconds = phases.total.as_secs_f64(), error = %fault, "not finished"
        );
        let age = (now().unix_millis() - upload.received_at.unix_millis()).max(0) as f64 / 1e3;
        let mut metrics = counted(fault).to_vec();
        metrics.push(("UnfinishedAgeSeconds", age));
        metrics.extend(phases.metrics());
        let about =
            json!({"request_id": request_id, "submission": submission, "error_type": fault.kind.as_str()});
        emit(deployment, Some(benchmark), &metrics, about);
    }
}
