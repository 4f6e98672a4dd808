//! Reads grey images from PNG files, with limits on the memory that they take.

use std::io::Cursor;

use dataperf::kind_of_file;
use png::{ColorType, Decoder, Limits, Transformations};

/// The first bytes of a PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The most bytes of memory that decoding one image may take.
const MAX_DECODER_BYTES: usize = 1 << 20;

/// The grey levels of a PNG of the given size, `(height, width)`, row after row, 0 to 255. Of 16 bits the higher 8 are kept, and
/// fewer than 8 bits are scaled up.
///
/// # Errors
/// A sentence about the image if it is no PNG, has another size, colours or transparency, or is damaged. An image of another size
/// is not unpacked.
pub fn decode_png(bytes: &[u8], height: usize, width: usize) -> Result<Vec<u8>, String> {
    let mut decoder = Decoder::new_with_limits(
        Cursor::new(bytes),
        Limits {
            bytes: MAX_DECODER_BYTES,
        },
    );
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let damaged = |error: png::DecodingError| {
        let other = kind_of_file(bytes).filter(|_| !bytes.starts_with(PNG));
        match other {
            Some(kind) => format!("it is {} instead of a PNG: save it as a PNG", kind.name),
            None => format!("it can't be read as a PNG ({error}): save it again"),
        }
    };
    let header = decoder.read_header_info().map_err(damaged)?;
    if (header.height as usize, header.width as usize) != (height, width) {
        return Err(format!(
            "it is {} pixels wide and {} high, this contest needs {width} by {height}: scale it",
            header.width, header.height
        ));
    }
    if header.color_type != ColorType::Grayscale {
        return Err("it has colours or transparency: save it in levels of grey".into());
    }
    let mut reader = decoder.read_info().map_err(damaged)?;
    if reader.info().is_animated() {
        return Err("it is animated: save one image".into());
    }
    let mut levels = vec![0; height * width];
    if reader.output_buffer_size() != Some(levels.len()) {
        return Err("it has transparency: save it in levels of grey".into());
    }
    reader.next_frame(&mut levels).map_err(damaged)?;
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use png::{BitDepth, Encoder};

    use super::*;

    fn packed(width: u32, height: u32, color: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, width, height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(data).expect("an image");
        writer.finish().expect("an end");
        bytes
    }

    #[test]
    fn grey_images_of_every_depth_are_read() {
        let eight = packed(
            3,
            2,
            ColorType::Grayscale,
            BitDepth::Eight,
            &[0, 1, 2, 253, 254, 255],
        );
        assert_eq!(decode_png(&eight, 2, 3), Ok(vec![0, 1, 2, 253, 254, 255]));
        let sixteen = packed(1, 2, ColorType::Grayscale, BitDepth::Sixteen, &[7, 200, 255, 1]);
        assert_eq!(decode_png(&sixteen, 2, 1), Ok(vec![7, 255]));
        let one = packed(2, 1, ColorType::Grayscale, BitDepth::One, &[0b0100_0000]);
        assert_eq!(decode_png(&one, 1, 2), Ok(vec![0, 255]));
    }

    #[test]
    fn other_images_are_refused_before_they_are_unpacked() {
        let rgb = packed(1, 1, ColorType::Rgb, BitDepth::Eight, &[1, 2, 3]);
        assert!(decode_png(&rgb, 1, 1).is_err_and(|why| why.contains("colours")));
        let small = packed(1, 1, ColorType::Grayscale, BitDepth::Eight, &[1]);
        assert!(decode_png(&small, 2, 1).is_err_and(|why| why.contains("1 pixels wide and 1 high")));
        // claims to have 60,000 x 60,000 pixels
        let mut bomb = small.clone();
        bomb[16..24].copy_from_slice(&[0, 0, 234, 96, 0, 0, 234, 96]);
        assert!(decode_png(&bomb, 1, 1).is_err());
        assert!(decode_png(&small[..small.len() - 20], 1, 1).is_err());
        assert!(decode_png(b"GIF89a", 1, 1).is_err());
        assert!(decode_png(b"", 1, 1).is_err());
    }
}
