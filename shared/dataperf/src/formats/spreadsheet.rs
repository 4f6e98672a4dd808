//! Cells of CSV files that people open in spreadsheets, which take some texts for formulas.

use std::borrow::Cow;

/// A cell as it is written: one that a spreadsheet would compute has a `'` before it. Those are what begins with `=`, `+`, `-`,
/// `@`, a tab or a carriage return, unless it is a number.
///
/// ```
/// use dataperf::csv_cell;
/// assert_eq!(csv_cell("=HYPERLINK(\"http://example.com\")"), "'=HYPERLINK(\"http://example.com\")");
/// assert_eq!(csv_cell("-0.25"), "-0.25");
/// assert_eq!(csv_cell("ada"), "ada");
/// ```
///
/// # Source
/// OWASP, "CSV Injection".
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let is_number = || text.parse().is_ok_and(f64::is_finite);
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_made_texts_and_numbers_stay_numbers() {
        for text in [
            "=1+1", "+a", "-a", "@SUM(A1)", "\t=1", "\r=1", "-1+1", "-", "-inf", "+nan", "--1",
        ] {
            assert_eq!(csv_cell(text), format!("'{text}"));
        }
        for text in [
            "-1",
            "-0.5",
            "+3",
            "-1e-9",
            "1",
            "",
            "ada",
            "a=b",
            "2026-03-01T00:00:00.000Z",
            "'=x",
        ] {
            assert_eq!(csv_cell(text), text);
        }
    }
}
