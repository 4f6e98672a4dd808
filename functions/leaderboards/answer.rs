//! How answers are written: JSON or CSV, with an entity tag, and kept by others only when they are public.

use axum::extract::FromRequestParts;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use dataperf::benchmark::PictureForm;
use dataperf::{Digest, csv_cell};
use serde::Serialize;

use crate::caller::Caller;
use crate::query::Format;

/// Browsers ask each time, by entity tag; a distribution in between may answer by itself for some seconds.
const PUBLIC: &str = "public, max-age=0, s-maxage=10, must-revalidate, stale-if-error=0";
const PRIVATE: &str = "private, no-store";

/// The request's wishes for the form of the answer.
pub(crate) struct Wishes {
    accepts_csv: bool,
    if_none_match: Option<String>,
}

impl Wishes {
    fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            accepts_csv: prefers_csv(text(ACCEPT).unwrap_or_default()),
            if_none_match: text(IF_NONE_MATCH).map(str::to_owned),
        }
    }

    /// Whether the request wants CSV.
    pub(crate) fn is_csv(&self, format: Option<Format>) -> bool {
        format.map_or(self.accepts_csv, |format| format == Format::Csv)
    }

    /// Writes `document`, or `lines` as CSV on request.
    pub(crate) fn list<L: Serialize>(
        &self,
        caller: &Caller,
        format: Option<Format>,
        document: &impl Serialize,
        header: &[&str],
        lines: &[L],
    ) -> Response {
        if self.is_csv(format) {
            self.write(
                caller,
                "text/csv; charset=utf-8; header=present",
                csv(header, lines),
            )
        } else {
            self.json(caller, document)
        }
    }

    /// Writes `document` as JSON.
    pub(crate) fn json(&self, caller: &Caller, document: &impl Serialize) -> Response {
        let mut body = serde_json::to_vec(document).unwrap_or_default();
        body.push(b'\n');
        self.write(caller, "application/json", body)
    }

    /// Writes bytes that are somebody's own, to be saved and never shown.
    pub(crate) fn attachment(&self, caller: &Caller, body: Vec<u8>) -> Response {
        let mut response = self.write(caller, "application/octet-stream", body);
        let disposition = HeaderValue::from_static("attachment");
        response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
        response
    }

    /// Writes a picture that a page may show.
    pub(crate) fn picture(&self, caller: &Caller, form: PictureForm, body: Vec<u8>) -> Response {
        self.write(caller, form.media_type(), body)
    }

    fn write(&self, caller: &Caller, content_type: &'static str, body: Vec<u8>) -> Response {
        let tag = format!("\"{}\"", &Digest::compute(&body).hex()[..32]);
        let mut response = if self.has(&tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            body.into_response()
        };
        let kept = if caller.is_known() { PRIVATE } else { PUBLIC };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
        headers.insert(VARY, HeaderValue::from_static("Accept, Authorization"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(ETAG, tag);
        }
        response
    }

    /// Whether the caller has the answer with this tag. A distribution that compresses makes a tag weak.
    fn has(&self, tag: &str) -> bool {
        let known = self.if_none_match.as_deref().unwrap_or_default();
        known
            .split(',')
            .map(str::trim)
            .any(|known| known == "*" || known.trim_start_matches("W/") == tag)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Wishes {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::from_headers(&parts.headers))
    }
}

/// Whether CSV is wanted more than JSON.
fn prefers_csv(accept: &str) -> bool {
    let weight = |wanted: &[&str]| {
        let of_range = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next()?;
            let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
            wanted
                .contains(&name)
                .then(|| weight.parse::<f64>().unwrap_or(0.0))
        };
        accept.split(',').filter_map(of_range).fold(0.0, f64::max)
    };
    weight(&["text/csv"]) > weight(&["application/json", "application/*", "*/*"])
}

fn csv<L: Serialize>(header: &[&str], lines: &[L]) -> Vec<u8> {
    let written = try_csv(header, lines);
    written.unwrap_or_else(|error| {
        tracing::error!(%error, "a line can't be written as CSV");
        Vec::new()
    })
}

/// The cells are written twice: as they are, and then as text that no spreadsheet takes for a formula.
fn try_csv<L: Serialize>(header: &[&str], lines: &[L]) -> Result<Vec<u8>, csv::Error> {
    let writer = || {
        csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(Vec::new())
    };
    let mut plain = writer();
    lines.iter().try_for_each(|line| plain.serialize(line))?;
    let plain = plain.into_inner().map_err(csv::IntoInnerError::into_error)?;
    let mut safe = writer();
    safe.write_record(header)?;
    let mut reader = csv::ReaderBuilder::new();
    for record in reader.has_headers(false).from_reader(plain.as_slice()).records() {
        safe.write_record(record?.iter().map(|cell| csv_cell(cell).into_owned()))?;
    }
    Ok(safe.into_inner().map_err(csv::IntoInnerError::into_error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_formulas_and_numbers_stay_numbers() {
        #[derive(Serialize)]
        struct Line {
            name: &'static str,
            score: Option<f64>,
        }
        let line = |name, score| Line { name, score };
        let lines = [
            line("=1+1", Some(-0.25)),
            line("a, \"b\"", None),
            line("-x", Some(1e-9)),
        ];
        let expected = "name,score\n'=1+1,-0.25\n\"a, \"\"b\"\"\",\n'-x,1e-9\n";
        assert_eq!(
            String::from_utf8_lossy(&csv(&["name", "score"], &lines)),
            expected
        );
        assert_eq!(csv::<Line>(&["name", "score"], &[]), b"name,score\n");
    }

    #[test]
    fn csv_is_for_those_who_prefer_it() {
        for accept in [
            "text/csv",
            "text/csv, */*;q=0.5",
            "application/json;q=0.1,text/csv",
        ] {
            assert!(prefers_csv(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "application/json",
            "text/csv;q=0.5, application/json",
            "text/csv;q=0",
            "text/csvx",
        ] {
            assert!(!prefers_csv(accept), "{accept}");
        }
    }

    #[test]
    fn entity_tags_match_strong_weak_and_listed_forms() {
        let has = |sent: &str| {
            let wishes = Wishes {
                accepts_csv: false,
                if_none_match: Some(sent.into()),
            };
            wishes.has("\"abc\"")
        };
        for sent in ["\"abc\"", "W/\"abc\"", "\"x\", W/\"abc\"", "*"] {
            assert!(has(sent), "{sent}");
        }
        for sent in ["", "\"ab\"", "abc"] {
            assert!(!has(sent), "{sent}");
        }
    }
}
