//! The form of a comparison's object: the summary, then a line of fixed length for each row, so that a page of a large board is
//! one small read.

use std::ops::Range;
use std::str::FromStr;

use super::{Area, Comparison, Line, Summary};
use crate::ports::PortError;
use crate::upload::SubmissionId;

/// The format's name and version; with a line feed, the first bytes of every object.
const FORMAT: &str = "dataperf-ranks/1";
/// Bytes of the summary, filled up with spaces.
const SUMMARY_BYTES: usize = 2 << 10;
/// Bytes of a line, all little-endian: the submission's id (16 bytes), first and last rank (4 each;
/// 0 for none), the score's interval (8 each; NaN for none), the number of submissions (4), whether
/// it is clearly better than the best baseline (4: 0 unknown, 1 no, 2 yes), the area under its
/// curves and the area's interval (8 each; NaN for none), first and last rank by area (4 each; 0
/// for none).
pub const LINE_BYTES: usize = 80;
/// The fewest lines that every object has room for, so that the first page is one read of known length.
pub(super) const MIN_LINES: usize = 256;
/// Bytes of the summary and the first lines.
pub const FIRST_BYTES: usize = SUMMARY_BYTES + MIN_LINES * LINE_BYTES;

impl Comparison {
    /// The object that is stored.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when the summary is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PortError> {
        let json = serde_json::to_string(&self.summary).unwrap_or_default();
        let mut bytes = format!("{FORMAT}\n{json}").into_bytes();
        if bytes.len() >= SUMMARY_BYTES || json.is_empty() {
            return Err(malformed(format!("its summary has {} bytes", bytes.len())));
        }
        bytes.resize(SUMMARY_BYTES - 1, b' ');
        bytes.push(b'\n');
        for (id, line) in &self.lines {
            bytes.extend(u128::from_str_radix(id.as_str(), 16).unwrap_or(0).to_be_bytes());
            let (first, last) = line.ranks.unwrap_or((0, 0));
            let (low, high) = line.interval.unwrap_or((f64::NAN, f64::NAN));
            bytes.extend(first.to_le_bytes());
            bytes.extend(last.to_le_bytes());
            bytes.extend(low.to_le_bytes());
            bytes.extend(high.to_le_bytes());
            bytes.extend(line.n_submissions.to_le_bytes());
            bytes.extend(
                line.is_above_baselines
                    .map_or(0u32, |is| 1 + u32::from(is))
                    .to_le_bytes(),
            );
            let value = line.area.and_then(|area| area.value).unwrap_or(f64::NAN);
            let interval = line.area.and_then(|area| area.interval);
            let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
            let (first, last) = line.area.map_or((0, 0), |area| area.rank_interval);
            bytes.extend([value, low, high].iter().flat_map(|number| number.to_le_bytes()));
            bytes.extend([first, last].iter().flat_map(|rank| rank.to_le_bytes()));
        }
        bytes.resize(bytes.len().max(FIRST_BYTES), 0);
        Ok(bytes)
    }

    /// Reads an object, or its first [`FIRST_BYTES`] with the lines that these have.
    ///
    /// # Errors
    /// [`PortError::Malformed`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PortError> {
        let short = || malformed(format!("it has {} bytes", bytes.len()));
        let (summary, lines) = bytes.split_at_checked(SUMMARY_BYTES).ok_or_else(short)?;
        let json = summary.strip_prefix(format!("{FORMAT}\n").as_bytes());
        let json = json.ok_or_else(|| malformed("it does not begin with the format's name".into()))?;
        let summary: Summary = serde_json::from_slice(json).map_err(|error| malformed(error.to_string()))?;
        let n_lines = summary.n_rows.min(lines.len() / LINE_BYTES);
        let lines = Self::lines(&lines[..n_lines * LINE_BYTES])?;
        Ok(Self { summary, lines })
    }

    /// The offsets of some rows' lines, by the rows' places.
    pub fn range_of(places: Range<usize>) -> Range<u64> {
        let place = |line: usize| (SUMMARY_BYTES + line * LINE_BYTES) as u64;
        place(places.start)..place(places.end)
    }

    /// Reads some lines.
    ///
    /// # Errors
    /// [`PortError::Malformed`] for other bytes.
    pub fn lines(bytes: &[u8]) -> Result<Vec<(SubmissionId, Line)>, PortError> {
        bytes.as_chunks::<LINE_BYTES>().0.iter().map(line).collect()
    }
}

fn line(bytes: &[u8; LINE_BYTES]) -> Result<(SubmissionId, Line), PortError> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let number = |at: usize| f64::from_bits(u64::from(word(at)) | u64::from(word(at + 4)) << 32);
    let mut id = [0; 16];
    id.copy_from_slice(&bytes[..16]);
    let id = format!("{:032x}", u128::from_be_bytes(id));
    let id = SubmissionId::from_str(&id).map_err(|error| malformed(error.to_string()))?;
    let (first, last, low, high) = (word(16), word(20), number(24), number(32));
    let (area, area_low, area_high) = (number(48), number(56), number(64));
    let area = (word(72) > 0).then(|| Area {
        value: (!area.is_nan()).then_some(area),
        interval: (!area_low.is_nan()).then_some((area_low, area_high)),
        rank_interval: (word(72), word(76)),
    });
    let line = Line {
        ranks: (first > 0).then_some((first, last)),
        interval: (!low.is_nan()).then_some((low, high)),
        n_submissions: word(40),
        is_above_baselines: (word(44) > 0).then(|| word(44) == 2),
        area,
    };
    Ok((id, line))
}

fn malformed(why: String) -> PortError {
    PortError::Malformed {
        subject: "a board's comparison".into(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn comparison(n_rows: usize) -> Comparison {
        let line = |row: usize| {
            let line = Line {
                ranks: (!row.is_multiple_of(3)).then_some((row as u32, row as u32 + 2)),
                interval: (!row.is_multiple_of(3)).then_some((0.25, 0.5)),
                n_submissions: row as u32,
                is_above_baselines: [None, Some(true), Some(false)][row % 3],
                area: (!row.is_multiple_of(4)).then_some(Area {
                    value: (row % 4 > 1).then_some(0.75),
                    interval: (row % 4 > 2).then_some((0.5, 0.875)),
                    rank_interval: (row as u32, row as u32 + 1),
                }),
            };
            (SubmissionId::derive("bucket", &row.to_string(), ""), line)
        };
        Comparison {
            summary: Summary {
                schema: Comparison::SCHEMA,
                compared_at: Timestamp::from_unix_millis(1),
                dataset: None,
                n_rows,
                n_ranked: n_rows,
                n_missing: 0,
                n_best: 2,
                resolution: Some(0.03),
                is_clustered: false,
                why_none: None,
                why_no_score_intervals: None,
                n_best_by_area: Some(1),
            },
            lines: (0..n_rows).map(line).collect(),
        }
    }

    #[test]
    fn comparisons_read_back_whole_and_in_pages() {
        for n_rows in [0, 1, 256, 1_000] {
            let comparison = comparison(n_rows);
            let bytes = comparison.to_bytes().expect("a short summary");
            assert_eq!(Comparison::from_bytes(&bytes).expect("an object"), comparison);
            let first = Comparison::from_bytes(&bytes[..FIRST_BYTES]).expect("its beginning");
            assert_eq!(first.lines, comparison.lines[..n_rows.min(256)]);
        }
        let bytes = comparison(1_000).to_bytes().expect("a short summary");
        let range = Comparison::range_of(300..310);
        let lines = Comparison::lines(&bytes[range.start as usize..range.end as usize]).expect("lines");
        assert_eq!(lines, comparison(1_000).lines[300..310]);
    }

    #[test]
    fn unknown_reasons_are_refused() {
        let bytes = |summary: &str| {
            let mut bytes = format!("{FORMAT}\n{summary}").into_bytes();
            bytes.resize(FIRST_BYTES, b' ');
            bytes
        };
        let summary = serde_json::json!({ "schema": 1, "compared_at": "2026-01-01T00:00:00.000Z", "dataset": null, "n_rows": 0,
            "n_ranked": 0, "n_missing": 0, "n_best": 0, "resolution": null, "is_clustered": false, "why_none": null,
            "why_no_score_intervals": { "code": "scores_rounded" } });
        let read = Comparison::from_bytes(&bytes(&summary.to_string())).expect("a summary");
        assert!(read.summary.is_of_released_scores());
        for reason in [
            serde_json::json!(
                "the round shows scores rounded to 1/n: they have intervals when it has closed"
            ),
            serde_json::json!({ "code": "rounded" }),
        ] {
            let mut other = summary.clone();
            other["why_no_score_intervals"] = reason;
            assert!(
                Comparison::from_bytes(&bytes(&other.to_string())).is_err(),
                "{other}"
            );
        }
        let mut without = summary;
        without
            .as_object_mut()
            .expect("an object")
            .remove("why_no_score_intervals");
        assert!(Comparison::from_bytes(&bytes(&without.to_string())).is_err());
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut bytes = comparison(3).to_bytes().expect("a short summary");
        assert!(Comparison::from_bytes(&bytes[..100]).is_err());
        bytes[0] = b'!';
        assert!(Comparison::from_bytes(&bytes).is_err());
    }
}
