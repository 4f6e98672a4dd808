//! Inspects a provider's bytes: whether they are an image, and whether the provider blocked it.

use std::io::Cursor;

use dataperf::Digest;
use image::{DynamicImage, ImageError, ImageFormat, ImageReader, Limits};

use crate::nibbler::configuration::Generation;

/// A picture whose mean grey level (0 is black, 255 white) lies below this was blacked out by its provider.
pub const BLACK_BELOW: f64 = 20.0;
const FORMATS: [ImageFormat; 3] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];
/// The most bytes of memory that decoding may take.
const MAX_DECODED_BYTES: u64 = 256 << 20;

/// The largest image that is stored, in bytes: it has to fit into an answer of the read API.
pub const MAX_STORED_BYTES: usize = 4 << 20;

/// An image that can be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    /// Its pixels as a PNG without any metadata: formats, comments and provenance marks would tell the provider. At most
    /// [`MAX_STORED_BYTES`]; a larger one has half its width and height, or less.
    pub png: Vec<u8>,
    /// The digest of these bytes.
    pub digest: Digest,
    /// Width, in pixels.
    pub width: u32,
    /// Height, in pixels.
    pub height: u32,
    /// The mean of its pixels' grey levels, from 0 (black) to 255.
    pub mean_grey: f64,
}

impl Inspected {
    /// Whether the provider blacked it out, which providers do instead of refusing.
    pub fn is_blocked(&self) -> bool {
        self.mean_grey < BLACK_BELOW
    }
}

/// Why something that was sent can't be used as an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnImage {
    /// More bytes than the configuration allows.
    #[error("it has {actual} bytes, the limit is {limit}")]
    TooLarge {
        /// The configured limit.
        limit: u64,
        /// The size found, in bytes.
        actual: u64,
    },
    /// Neither PNG nor JPEG nor WebP.
    #[error("it is neither PNG nor JPEG nor WebP")]
    UnknownFormat,
    /// More pixels than the configuration allows.
    #[error("it is too large to decode: at most {limit} pixels a side are taken")]
    TooManyPixels {
        /// The configured limit.
        limit: u32,
    },
    /// It can't be decoded.
    #[error("it can't be decoded: {0}")]
    Damaged(String),
}

/// Decodes what a provider sent, within the configured bounds.
///
/// # Errors
/// [`NotAnImage`].
pub fn inspect(bytes: &[u8], limits: &Generation) -> Result<Inspected, NotAnImage> {
    let (limit, actual) = (limits.max_image_bytes, bytes.len() as u64);
    if actual > limit {
        return Err(NotAnImage::TooLarge { limit, actual });
    }
    let format = image::guess_format(bytes).map_err(|_| NotAnImage::UnknownFormat)?;
    if !FORMATS.contains(&format) {
        return Err(NotAnImage::UnknownFormat);
    }
    let image = decode(bytes, format, limits.max_image_side)?;
    let mean_grey = mean_grey(&image);
    let (image, png) = stored(image)?;
    Ok(Inspected {
        digest: Digest::compute(&png),
        png,
        width: image.width(),
        height: image.height(),
        mean_grey,
    })
}

/// An image as it is stored, halved until it is small enough.
fn stored(image: DynamicImage) -> Result<(DynamicImage, Vec<u8>), NotAnImage> {
    let mut image = DynamicImage::ImageRgb8(image.into_rgb8());
    loop {
        let png = bare_png(&image)?;
        if png.len() <= MAX_STORED_BYTES {
            return Ok((image, png));
        }
        let half = |side: u32| (side / 2).max(1);
        image = image.thumbnail_exact(half(image.width()), half(image.height()));
    }
}

fn decode(bytes: &[u8], format: ImageFormat, max_side: u32) -> Result<DynamicImage, NotAnImage> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(max_side);
    limits.max_image_height = Some(max_side);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    reader.decode().map_err(|error| match error {
        ImageError::Limits(_) => NotAnImage::TooManyPixels { limit: max_side },
        other => NotAnImage::Damaged(other.to_string().chars().take(200).collect()),
    })
}

/// Encodes an image as PNG with eight bits a colour, without transparency: what people see.
fn bare_png(image: &DynamicImage) -> Result<Vec<u8>, NotAnImage> {
    let mut png = Cursor::new(Vec::new());
    let written = image.to_rgb8().write_to(&mut png, ImageFormat::Png);
    written.map_err(|error| NotAnImage::Damaged(error.to_string()))?;
    Ok(png.into_inner())
}

fn mean_grey(image: &DynamicImage) -> f64 {
    let grey = image.to_luma8();
    let sum: u64 = grey.as_raw().iter().map(|&level| u64::from(level)).sum();
    sum as f64 / (grey.as_raw().len() as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, Luma, RgbImage};

    use super::*;

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn grey(level: u8) -> DynamicImage {
        GrayImage::from_pixel(8, 4, Luma([level])).into()
    }

    #[test]
    fn image_inspection_keeps_size_and_writes_png() {
        let image: DynamicImage =
            RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8 * 20, y as u8 * 30, 200])).into();
        for format in FORMATS {
            let inspected = inspect(&encoded(&image, format), &Generation::default()).unwrap();
            assert_eq!((inspected.width, inspected.height), (9, 7));
            assert_eq!(image::guess_format(&inspected.png).unwrap(), ImageFormat::Png);
            assert_eq!(inspected.digest, Digest::compute(&inspected.png));
            assert!(!inspected.is_blocked(), "{inspected:?}");
        }
    }

    #[test]
    fn image_metadata_are_dropped() {
        let mut png = encoded(&grey(90), ImageFormat::Png);
        let end = png.len() - 12; // the last chunk
        let comment = b"tEXtSoftware\0made by provider A";
        let mut chunk = (comment.len() as u32 - 4).to_be_bytes().to_vec();
        chunk.extend(comment);
        chunk.extend(0xe6e6_4c5f_u32.to_be_bytes());
        png.splice(end..end, chunk);
        let inspected = inspect(&png, &Generation::default()).unwrap();
        let holds = |bytes: &[u8]| bytes.windows(10).any(|window| window == b"provider A");
        assert!(holds(&png) && !holds(&inspected.png));
    }

    #[test]
    fn a_too_large_image_is_halved() {
        let mut state = 7_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let noise = RgbImage::from_fn(1400, 1001, |_, _| image::Rgb(std::array::from_fn(|_| noise())));
        let bytes = encoded(&noise.into(), ImageFormat::Png);
        assert!(bytes.len() > MAX_STORED_BYTES);
        let inspected = inspect(&bytes, &Generation::default()).unwrap();
        assert!(inspected.png.len() <= MAX_STORED_BYTES);
        assert_eq!((inspected.width, inspected.height), (700, 500));
        assert!(
            (inspected.mean_grey - 127.5).abs() < 1.0,
            "{}",
            inspected.mean_grey
        );
    }

    #[test]
    fn near_black_is_blocked_from_below_twenty() {
        let is_blocked = |level| {
            inspect(&encoded(&grey(level), ImageFormat::Png), &Generation::default())
                .unwrap()
                .is_blocked()
        };
        assert_eq!([0, 19, 20, 200].map(is_blocked), [true, true, false, false]);
    }

    #[test]
    fn a_broken_image_is_refused_before_any_cost() {
        let png = encoded(&grey(90), ImageFormat::Png);
        let rules = Generation::default();
        assert_eq!(inspect(b"<html>", &rules), Err(NotAnImage::UnknownFormat));
        assert_eq!(inspect(b"", &rules), Err(NotAnImage::UnknownFormat));
        assert!(matches!(
            inspect(&png[..png.len() / 2], &rules),
            Err(NotAnImage::Damaged(_))
        ));
        let few_bytes = Generation {
            max_image_bytes: 10,
            ..rules.clone()
        };
        let actual = png.len() as u64;
        assert_eq!(
            inspect(&png, &few_bytes),
            Err(NotAnImage::TooLarge { limit: 10, actual })
        );
        let few_pixels = Generation {
            max_image_side: 7,
            ..rules.clone()
        };
        assert_eq!(
            inspect(&png, &few_pixels),
            Err(NotAnImage::TooManyPixels { limit: 7 })
        );
        // a header that promises 60,000 x 60,000 pixels
        let mut bomb = png.clone();
        bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        assert!(inspect(&bomb, &rules).is_err());
    }
}
