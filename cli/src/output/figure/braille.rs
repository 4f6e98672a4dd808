//! A canvas of characters: lines in Braille dots, two by four a character, and text between them.

use std::convert::Infallible;
use std::fmt;

use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    text_anchor::{HPos, VPos},
};

/// Dots of a character.
const DOTS: (u32, u32) = (2, 4);
/// The bit of each dot within a Braille character, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The Braille character without dots.
const BRAILLE: u32 = 0x2800;

/// The canvas. Its pixels are dots.
pub(crate) struct Canvas {
    n_columns: usize,
    dots: Vec<u8>,
    text: Vec<Option<char>>,
}

impl Canvas {
    /// A canvas of so many characters.
    pub(crate) fn new((n_columns, n_rows): (u32, u32)) -> Self {
        let n_chars = (n_columns * n_rows) as usize;
        Self {
            n_columns: n_columns as usize,
            dots: vec![0; n_chars],
            text: vec![None; n_chars],
        }
    }

    /// The place of a character, if it is on the canvas.
    fn place(&self, column: i32, row: i32) -> Option<usize> {
        let (column, row) = (usize::try_from(column).ok()?, usize::try_from(row).ok()?);
        let place = row * self.n_columns + column;
        (column < self.n_columns && place < self.dots.len()).then_some(place)
    }
}

impl DrawingBackend for &mut Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let n_rows = self.dots.len() / self.n_columns;
        (self.n_columns as u32 * DOTS.0, n_rows as u32 * DOTS.1)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        (x, y): BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        if let Some(place) = self
            .place(x.div_euclid(2), y.div_euclid(4))
            .filter(|_| color.alpha > 0.0)
        {
            self.dots[place] |= BITS[y.rem_euclid(4) as usize][x.rem_euclid(2) as usize];
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (anchor, n_chars) = (
            style.anchor(),
            i32::try_from(text.chars().count()).unwrap_or(i32::MAX),
        );
        let column = x.div_euclid(2)
            - match anchor.h_pos {
                HPos::Left => 0,
                HPos::Center => n_chars / 2,
                HPos::Right => n_chars + 1, // not onto the axis
            };
        let row = match anchor.v_pos {
            VPos::Bottom => y - 1,
            VPos::Center => y,
            VPos::Top => y + 3, // below the axis
        };
        for (offset, letter) in (0..).zip(text.chars()) {
            if let Some(place) = self.place(column + offset, row.div_euclid(4)) {
                self.text[place] = Some(letter);
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        _: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((text.chars().count() as u32 * DOTS.0, DOTS.1))
    }
}

impl fmt::Display for Canvas {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (dots, text) in self
            .dots
            .chunks(self.n_columns)
            .zip(self.text.chunks(self.n_columns))
        {
            let letters = dots.iter().zip(text).map(|(&dots, &text)| {
                let braille = char::from_u32(BRAILLE + u32::from(dots)).filter(|_| dots > 0);
                text.or(braille).unwrap_or(' ')
            });
            writeln!(f, "{}", letters.collect::<String>().trim_end())?;
        }
        Ok(())
    }
}
