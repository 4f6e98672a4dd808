//! The lines of texts, for messages: readers of CSV give the number of the line where the record before ended, which is a line early after
//! `\r\n` and after blank lines.

use std::io::{self, BufRead};

/// Finds the lines of places in a text, which have to ascend.
pub struct LineNumbers<'a> {
    text: &'a [u8],
    seen: usize,
    line: usize,
}

impl<'a> LineNumbers<'a> {
    /// Begins at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            seen: 0,
            line: 1,
        }
    }

    /// The line, from 1, of the first byte from `place` on that does not end a line; `place` is a number of bytes.
    ///
    /// ```
    /// let mut lines = dataperf::LineNumbers::new(b"id\r\n\r\na\nb");
    /// assert_eq!([0, 3, 7, 8].map(|place| lines.number(place)), [1, 3, 4, 4]);
    /// ```
    pub fn number(&mut self, place: usize) -> usize {
        let rest = self.text.get(place..).unwrap_or_default();
        let n_ends = rest.iter().take_while(|byte| b"\r\n".contains(byte)).count();
        let begin = place.min(self.text.len()) + n_ends;
        for at in self.seen..begin {
            let is_end = match self.text[at] {
                b'\n' => true,
                b'\r' => self.text.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            self.line += usize::from(is_end);
        }
        self.seen = begin.max(self.seen);
        self.line
    }
}

/// The line of one place in a text, which is read up to there.
///
/// # Errors
/// The reader's.
///
/// ```
/// let line = |place| dataperf::line_number(&b"id\r\n\r\na\nb"[..], place).unwrap();
/// assert_eq!([0, 3, 7, 8].map(line), [1, 3, 4, 4]);
/// ```
pub fn line_number(text: impl BufRead, place: u64) -> io::Result<u64> {
    let (mut line, mut after_return) = (1, false);
    for (at, byte) in (0_u64..).zip(text.bytes()) {
        let byte = byte?;
        if at >= place && !b"\r\n".contains(&byte) {
            break;
        }
        // `\r\n` is one end
        line += u64::from(byte == b'\r' || byte == b'\n' && !after_return);
        after_return = byte == b'\r';
    }
    Ok(line)
}
