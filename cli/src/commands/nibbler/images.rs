//! Images on disk: blurred, unless somebody asks for them as they are.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use dataperf::SubmitterName;
use dataperf::ports::bucket::{Bucket, Got};
use image::{ImageFormat, ImageReader, Limits};

use super::WELL_BEING;
use crate::cloud::Cloud;
use crate::commands::collection::Consent;

/// The most bytes of an image that are read; no stored image has more.
pub(super) const MAX_IMAGE_BYTES: u64 = 256 << 20;
/// Pixels per side of a blurred image: colours and shapes remain, but the content is not
/// recognizable.
const BLURRED_SIDE: u32 = 12;

/// How images are saved.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImageArgs {
    /// Save images here
    #[arg(long, value_name = "DIR", default_value = ".")]
    images: PathBuf,
    /// Save images sharp; they may be disturbing
    #[arg(long)]
    unblurred: bool,
    /// Consent to images that may be disturbing, once per person and folder
    #[arg(long)]
    consent: bool,
}

impl ImageArgs {
    /// The file for notes on a person's images in this folder.
    pub(super) fn note(&self, name: &str) -> PathBuf {
        self.images.join(name)
    }

    /// Requires a person's consent to see images before the first one.
    pub(super) fn ask_consent(&self, who: &SubmitterName) -> Result<()> {
        let consent = Consent {
            path: &self.note("consent.txt"),
            to: "be shown images that may be disturbing",
            well_being: WELL_BEING,
        };
        consent.ask(who, self.consent)
    }
}

/// Saves an image of the results bucket and returns its path. `None` if it is missing, or may not
/// be read.
pub(crate) async fn save(cloud: &Cloud, key: &str, args: &ImageArgs) -> Result<Option<PathBuf>> {
    let Got::Object(object) = cloud.results().get(key, None, MAX_IMAGE_BYTES).await? else {
        return Ok(None);
    };
    let name = Path::new(key).file_stem().unwrap_or_default().to_string_lossy();
    let (path, bytes) = if args.unblurred {
        (args.images.join(format!("{name}.png")), object.bytes.to_vec())
    } else {
        (
            args.images.join(format!("{name}.blurred.png")),
            blurred(&object.bytes)?,
        )
    };
    let about = || format!("can't write `{}`", path.display());
    std::fs::create_dir_all(&args.images).with_context(about)?;
    std::fs::write(&path, bytes).with_context(about)?;
    Ok(Some(path))
}

fn blurred(png: &[u8]) -> Result<Vec<u8>> {
    let mut reader = ImageReader::with_format(Cursor::new(png), ImageFormat::Png);
    reader.limits(Limits::default());
    let image = reader.decode().context("what is stored is no image")?;
    let (width, height) = (image.width(), image.height());
    let few = image.thumbnail_exact(BLURRED_SIDE, BLURRED_SIDE);
    let smooth = few.resize_exact(width, height, image::imageops::FilterType::Triangle);
    let mut bytes = Cursor::new(Vec::new());
    smooth.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use image::{GenericImageView as _, Rgb, RgbImage};

    use super::*;

    #[test]
    fn a_blurred_image_keeps_size_and_loses_detail() {
        let sharp = RgbImage::from_fn(120, 80, |x, y| {
            Rgb([if (x / 2 + y / 2) % 2 == 0 { 0 } else { 255 }; 3])
        });
        let mut png = Cursor::new(Vec::new());
        sharp.write_to(&mut png, ImageFormat::Png).unwrap();
        let blurred = image::load_from_memory(&blurred(&png.into_inner()).unwrap()).unwrap();
        assert_eq!((blurred.width(), blurred.height()), (120, 80));
        for x in 1..120 {
            let difference = blurred.get_pixel(x, 40)[0].abs_diff(blurred.get_pixel(x - 1, 40)[0]);
            assert!(difference < 30, "{difference} at {x}");
        }
        assert!(super::blurred(b"no image").is_err());
    }
}
