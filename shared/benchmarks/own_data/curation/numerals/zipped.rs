//! Images in the form of an artifact: a zip of `CLASS/name.png`.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A zip of grey PNGs, named `CLASS/00000.png` and so on in the order of the images.
///
/// # Shapes and units
/// Each image is its class's name and `(height, width)` grey levels, row after row.
///
/// # Errors
/// If an image's pixels are not `height` times `width`, or the zip can't be written.
pub fn zip_of_images<'a>(
    height: u32,
    width: u32,
    images: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> std::io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    // PNGs are compressed already
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (at, (class, pixels)) in images.into_iter().enumerate() {
        zip.start_file(format!("{class}/{at:05}.png"), options)?;
        zip.write_all(&png_of(height, width, pixels)?)?;
    }
    Ok(zip.finish()?.into_inner())
}

fn png_of(height: u32, width: u32, pixels: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn images_come_back() {
        let images = [("ii", [0, 10, 200, 255, 3, 4]), ("x", [9, 8, 7, 6, 5, 4])];
        let zip = zip_of_images(2, 3, images.iter().map(|(class, pixels)| (*class, &pixels[..]))).unwrap();
        let mut zip = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
        for (at, (name, (_, pixels))) in ["ii/00000.png", "x/00001.png"]
            .into_iter()
            .zip(images)
            .enumerate()
        {
            let mut entry = zip.by_index(at).unwrap();
            assert_eq!(entry.name(), name);
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
            let mut decoded = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut decoded).unwrap();
            assert_eq!((info.height, info.width, &decoded[..]), (2, 3, &pixels[..]));
        }
    }

    #[test]
    fn refuses_pixels_of_another_size() {
        assert!(zip_of_images(2, 3, [("i", &[0u8; 5][..])]).is_err());
    }
}
