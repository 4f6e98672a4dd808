//! Tables for people, which fit the terminal: columns that can be spared are left out first, then prose is wrapped at words, and
//! what still does not fit is a block of lines for each row.

use std::fmt;

use textwrap::core::display_width;

use crate::print::{width, wrapped};

/// Spaces between two columns.
const GAP: usize = 2;
/// Columns that prose needs to be readable in a table.
const PROSE: usize = 32;

/// Rows under headings.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<String>,
    is_number: Vec<bool>,
    /// The columns that can be spared, the first one first.
    spare: Vec<usize>,
    rows: Vec<Vec<String>>,
}

/// The least digits of an id that a table shows.
const ID_DIGITS: usize = 8;

/// How many first digits tell these ids apart, eight at least.
pub(crate) fn digits_apart(ids: impl IntoIterator<Item = impl AsRef<str>>) -> usize {
    let mut ids: Vec<_> = ids.into_iter().collect();
    ids.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
    let common = |pair: &[_]| {
        let [a, b] = [0, 1].map(|n: usize| AsRef::<str>::as_ref(&pair[n]));
        let n = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        if a == b { 0 } else { n + 1 }
    };
    let needed = ids.windows(2).map(common).max();
    needed.unwrap_or(0).max(ID_DIGITS)
}

/// The first digits of an id.
pub(crate) fn short(id: &str, n_digits: usize) -> String {
    id.chars().take(n_digits).collect()
}

/// A table without rows.
pub(crate) fn table(heads: &[&str]) -> Table {
    Table {
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        is_number: vec![false; heads.len()],
        spare: Vec::new(),
        rows: Vec::new(),
    }
}

/// Aligns a column of numbers.
pub(crate) fn align_right(table: &mut Table, column: usize) {
    if let Some(is_number) = table.is_number.get_mut(column) {
        *is_number = true;
    }
}

impl Table {
    /// Adds a row with a cell for each heading.
    pub(crate) fn add_row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether it has no rows.
    #[cfg(feature = "local")]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Names the columns that a narrow terminal may go without, the first one first.
    pub(crate) fn spare(&mut self, heads: &[&str]) {
        let column = |head: &&str| self.heads.iter().position(|own| own == head);
        self.spare = heads.iter().filter_map(column).collect();
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        let rows = self.rows.iter().filter_map(move |row| row.get(column));
        rows.map(String::as_str)
    }

    /// The widest line of a column.
    fn natural(&self, column: usize) -> usize {
        let lines = self.cells(column).flat_map(|cell| cell.split('\n'));
        let widest = lines.map(display_width).max().unwrap_or(0);
        widest.max(display_width(&self.heads[column]))
    }

    /// The least width of a column that breaks no word.
    fn least(&self, column: usize) -> usize {
        let natural = self.natural(column);
        let words = self.cells(column).flat_map(str::split_whitespace);
        let longest = words.map(display_width).max().unwrap_or(0);
        let head = display_width(&self.heads[column]); // heads do not wrap
        natural.min(PROSE.max(longest).max(head))
    }

    /// The columns' widths; nothing where they do not fit.
    fn widths(&self, columns: &[usize], width: usize) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = columns.iter().map(|column| self.least(*column)).collect();
        let gaps = GAP * columns.len().saturating_sub(1);
        let mut left = width.checked_sub(widths.iter().sum::<usize>() + gaps)?;
        for (own, column) in widths.iter_mut().zip(columns) {
            let more = (self.natural(*column) - *own).min(left);
            *own += more;
            left -= more;
        }
        Some(widths)
    }

    /// The columns with text in at least one row; all columns if the table has no rows.
    fn filled_columns(&self) -> Vec<usize> {
        let is_filled =
            |column: &usize| self.rows.is_empty() || self.cells(*column).any(|cell| !cell.is_empty());
        (0..self.heads.len()).filter(is_filled).collect()
    }

    /// The headings and rows of the [filled columns](Self::filled_columns), to write the table in
    /// other forms.
    #[cfg(feature = "cloud")]
    pub(crate) fn filled(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let columns = self.filled_columns();
        let select = |cells: &[String]| -> Vec<String> {
            columns.iter().map(|column| cells[*column].clone()).collect()
        };
        (
            select(&self.heads),
            self.rows.iter().map(|row| select(row)).collect(),
        )
    }

    fn render(&self, width: usize) -> String {
        let filled = self.filled_columns();
        let mut columns = filled.clone();
        let mut spare = self.spare.iter();
        loop {
            if let Some(widths) = self.widths(&columns, width) {
                return self.grid(&columns, &widths);
            }
            if filled.len() <= 2 {
                // names and values: a block for each would be longer and no narrower
                let widths: Vec<usize> = columns.iter().map(|column| self.least(*column)).collect();
                return self.grid(&columns, &widths);
            }
            let Some(next) = spare.next() else {
                return self.blocks(&filled, width);
            };
            columns.retain(|column| column != next);
        }
    }

    fn grid(&self, columns: &[usize], widths: &[usize]) -> String {
        let line = |cells: &[&str]| {
            let padded = columns
                .iter()
                .zip(widths)
                .zip(cells)
                .map(|((column, width), cell)| {
                    let space = " ".repeat(width.saturating_sub(display_width(cell)));
                    if self.is_number[*column] {
                        format!("{space}{cell}")
                    } else {
                        format!("{cell}{space}")
                    }
                });
            let padded: Vec<String> = padded.collect();
            padded.join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        let heads: Vec<&str> = columns
            .iter()
            .map(|column| self.heads[*column].as_str())
            .collect();
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let mut lines = vec![line(&heads), "-".repeat(total)];
        for row in &self.rows {
            let cell = |(column, width): (&usize, &usize)| {
                wrapped(row.get(*column).map_or("", String::as_str), *width)
            };
            let cells: Vec<String> = columns.iter().zip(widths).map(cell).collect();
            let parts: Vec<Vec<&str>> = cells.iter().map(|cell| cell.split('\n').collect()).collect();
            let height = parts.iter().map(Vec::len).max().unwrap_or(0);
            lines.extend((0..height).map(|n| {
                let of_line = parts.iter().map(|part| part.get(n).copied().unwrap_or_default());
                line(&of_line.collect::<Vec<_>>())
            }));
        }
        lines.join("\n")
    }

    /// Each row as lines `heading  cell`.
    fn blocks(&self, columns: &[usize], width: usize) -> String {
        let heads = columns.iter().map(|column| display_width(&self.heads[*column]));
        let indent = heads.max().unwrap_or(0) + GAP;
        let block = |row: &Vec<String>| {
            let cells = columns.iter().filter_map(|column| {
                let cell = row.get(*column).filter(|cell| !cell.is_empty())?;
                let space = " ".repeat(indent);
                let indented: Vec<String> = cell.split('\n').map(|line| format!("{space}{line}")).collect();
                let text = wrapped(&indented.join("\n"), width);
                let head = &self.heads[*column];
                let pad = " ".repeat(indent - display_width(head));
                Some(format!("{head}{pad}{}", text.trim_start()))
            });
            cells.collect::<Vec<_>>().join("\n")
        };
        self.rows.iter().map(block).collect::<Vec<_>>().join("\n\n")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(width()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Table {
        let mut board = table(&["rank", "interval", "submitter", "received", "why"]);
        board.add_row(["1", "", "ada", "2026-11-29 05:40", ""]);
        board.add_row([
            "12",
            "",
            "bo",
            "2026-11-29 05:41",
            "the first id is unknown: write it as the pool does",
        ]);
        align_right(&mut board, 0);
        board.spare(&["received"]);
        board
    }

    #[test]
    fn ids_are_as_short_as_they_are_unique() {
        let ids = ["0123456789ab", "0123456789cd", "f", "f"];
        assert_eq!(digits_apart(ids), 11);
        assert_eq!(short(ids[0], 11), "0123456789a");
        assert_eq!(digits_apart(["01234567", "1"]), 8);
    }

    #[test]
    fn a_wide_table_has_every_filled_column() {
        let shown = board().render(100);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "rank  submitter  received          why");
        assert_eq!(lines[2], "   1  ada        2026-11-29 05:40");
        assert_eq!(lines.len(), 4, "{shown}");
    }

    #[test]
    fn a_narrow_table_spares_columns_and_wraps_prose() {
        let shown = board().render(50);
        let lines = [
            "rank  submitter  why",
            "--------------------------------------------------",
            "   1  ada",
            "  12  bo         the first id is unknown: write it",
            "                 as the pool does",
        ];
        assert_eq!(shown, lines.join("\n"));
    }

    #[test]
    fn a_very_narrow_table_prints_blocks_per_row() {
        let shown = board().render(34);
        let lines = [
            "rank       1",
            "submitter  ada",
            "received   2026-11-29 05:40",
            "",
            "rank       12",
            "submitter  bo",
            "received   2026-11-29 05:41",
            "why        the first id is",
            "           unknown: write it as",
            "           the pool does",
        ];
        assert_eq!(shown, lines.join("\n"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 30..140 {
            for line in board().render(width).lines() {
                assert!(display_width(line) <= width, "{width}: {line}");
            }
        }
    }
}
