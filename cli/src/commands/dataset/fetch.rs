//! `dataperf dataset fetch`: the public challenge's archives, resumable, checked, unpacked.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tempfile::NamedTempFile;
use ureq::http::{Response, header};

use crate::Done;
use crate::output::progress;
use crate::output::{Format, print_json};

/// The place of the public speech challenge's archives.
const SPEECH_ARCHIVES: &str = "https://dataperf.s3.amazonaws.com/speech-selection";
/// Its three languages, by the names of the archives.
const SPEECH_LANGUAGES: [&str; 3] = ["eng", "por", "ind"];
const BLOCK_BYTES: usize = 1 << 18;

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// The benchmark
    #[arg(value_parser = ["speech-selection"])]
    benchmark: String,
    /// Where to unpack the archives
    #[arg(long)]
    out: PathBuf,
    /// Only these languages: `eng`, `por`, `ind`
    #[arg(long = "language", value_parser = SPEECH_LANGUAGES)]
    languages: Vec<String>,
    /// Another place with the same archives
    #[arg(long, value_name = "URL", default_value = SPEECH_ARCHIVES, hide_default_value = true)]
    archives: String,
}

pub(super) fn run(args: &FetchArgs, format: Format) -> Result<Done> {
    fs::create_dir_all(&args.out)
        .with_context(|| format!("can't make the directory `{}`", args.out.display()))?;
    let all: Vec<String> = SPEECH_LANGUAGES.map(str::to_owned).into();
    let languages = if args.languages.is_empty() {
        &all
    } else {
        &args.languages
    };
    for language in languages {
        let name = format!("dataperf_{language}_data.zip");
        let archive = args.out.join(&name);
        download(
            &format!("{}/{name}", args.archives.trim_end_matches('/')),
            &archive,
        )?;
        unpack(&archive, &args.out)?;
    }
    match format {
        Format::Json => print_json(&json!({ "out": args.out, "languages": languages }))?,
        Format::Text => println!(
            "unpacked into `{out}`; next: dataperf dataset import {} --from {out} --out frozen/",
            args.benchmark,
            out = args.out.display()
        ),
    }
    Ok(Done::Fine)
}

/// Downloads `url` to `path` unless a whole archive is there. A part that an earlier call left is continued, provided the server
/// still has the same archive. What is at `path` already is never changed or removed.
fn download(url: &str, path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        return whole(path).with_context(|| {
            format!(
                "`{}` is there already and is not a whole zip archive: move it away, and call again to download it",
                path.display()
            )
        });
    }
    let part = path.with_extension("zip.part");
    let tag_file = path.with_extension("zip.tag");
    // an earlier call has made the tag before the part
    let [has_part, has_tag] = [&part, &tag_file].map(|file| file.symlink_metadata().is_ok());
    let is_own = |file: &Path| file.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if (has_part && !(has_tag && is_own(&part))) || (has_tag && !is_own(&tag_file)) {
        bail!(
            "`{}` is there and no earlier call has made it: move it away",
            if has_part { &part } else { &tag_file }.display()
        );
    }
    if has_part && whole(&part).is_ok() {
        fs::rename(&part, path).with_context(|| format!("can't move `{}`", part.display()))?;
        let _ = fs::remove_file(&tag_file);
        return Ok(()); // an earlier call broke off after all of it had come
    }
    let n_there = part.metadata().map_or(0, |metadata| metadata.len());
    let tag = fs::read_to_string(&tag_file).unwrap_or_default();
    let mut request = ureq::get(url);
    if n_there > 0 && !tag.is_empty() {
        request = request
            .header("range", format!("bytes={n_there}-"))
            .header("if-range", &tag);
    }
    let response = match request.call() {
        Err(ureq::Error::StatusCode(416)) => bail!(
            "`{}` is complete but is not a zip archive: remove it, and run the command again to download `{url}`",
            part.display()
        ),
        answer => answer.with_context(|| {
            format!("can't download `{url}`: check the network, or give another place with `--archives`")
        })?,
    };
    let resumes = response.status() == 206;
    let n_before = if resumes { n_there } else { 0 };
    fs::write(&tag_file, header_text(&response, &header::ETAG))
        .with_context(|| format!("can't write `{}`", tag_file.display()))?;
    let n_expected: Option<u64> = header_text(&response, &header::CONTENT_LENGTH).parse().ok();
    let about = || format!("can't write `{}`", part.display());
    let mut file = OpenOptions::new()
        .create(true)
        .append(resumes)
        .write(true)
        .truncate(!resumes)
        .open(&part)
        .with_context(about)?;

    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let bar = progress::bytes(n_before + n_expected.unwrap_or(0), &name);
    bar.set_position(n_before);
    let mut body = bar.wrap_read(response.into_body().into_reader());
    let (mut block, mut n_read) = (vec![0; BLOCK_BYTES], 0);
    loop {
        let n = body.read(&mut block).with_context(|| {
            format!("the download of `{url}` was interrupted: run the command again to resume")
        })?;
        if n == 0 {
            break;
        }
        file.write_all(&block[..n]).with_context(about)?;
        n_read += n as u64;
    }
    bar.finish();
    if n_expected.is_some_and(|n_expected| n_read != n_expected) {
        bail!(
            "the download of `{url}` was interrupted after {n_read} bytes: run the command again to resume"
        );
    }
    file.sync_all().with_context(about)?;
    whole(&part).with_context(|| {
        let part = part.display();
        format!("`{url}` did not send a complete zip archive: remove `{part}`, and run the command again")
    })?;
    fs::rename(&part, path).with_context(|| format!("can't move `{}`", part.display()))?;
    let _ = fs::remove_file(&tag_file);
    Ok(())
}

fn header_text<T>(response: &Response<T>, name: &header::HeaderName) -> String {
    response
        .headers()
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

/// Unpacks an archive. It checks each entry's checksum while reading, and no entry leaves `out`.
/// Existing files with the same bytes are skipped. If one differs, nothing is unpacked.
fn unpack(archive: &Path, out: &Path) -> Result<()> {
    let about = || format!("`{}` is not a whole zip archive", archive.display());
    let file = File::open(archive).with_context(|| format!("can't read `{}`", archive.display()))?;
    let mut zip = zip::ZipArchive::new(file).with_context(about)?;
    let (mut missing, mut others) = (Vec::new(), Vec::new());
    for idx in 0..zip.len() {
        let mut entry = zip.by_index(idx).with_context(about)?;
        let Some(name) = entry.enclosed_name() else {
            bail!(
                "`{}` has an entry `{}` that leaves the directory: remove the archive, and fetch it from somewhere else",
                archive.display(),
                entry.name()
            );
        };
        let path = out.join(name);
        if entry.is_dir() {
            continue;
        }
        if path.symlink_metadata().is_err() {
            missing.push((idx, path));
        } else if !is_same(&path, &mut entry)? {
            others.push(format!("`{}`", path.display()));
        }
    }
    if !others.is_empty() {
        bail!(
            "these files are there already and differ from those in `{}`, and nothing is overwritten: {}. Move them away, or choose another `--out`",
            archive.display(),
            others.join(", ")
        );
    }
    let bar = progress::counting(missing.len() as u64, "unpacking");
    for (idx, path) in missing {
        let mut entry = zip.by_index(idx).with_context(about)?;
        let parent = path.parent().unwrap_or(out);
        fs::create_dir_all(parent).with_context(|| format!("can't make `{}`", parent.display()))?;
        // under its own name only when it is whole
        let mut written = || -> Result<()> {
            let mut file = new_file_in(parent)?;
            std::io::copy(&mut entry, &mut file)?;
            file.persist_noclobber(&path)?;
            Ok(())
        };
        written().with_context(|| format!("can't unpack `{}`", path.display()))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A temporary file in a folder, with the permissions of any new file.
fn new_file_in(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new();
    #[cfg(unix)]
    file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    file.prefix(".fetch-").tempfile_in(folder)
}

/// Whether a file, and not a link or a folder, has the bytes of an entry.
fn is_same(path: &Path, entry: &mut impl Read) -> Result<bool> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(false);
    }
    let mut file = File::open(path).with_context(|| format!("can't read `{}`", path.display()))?;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    loop {
        a.clear();
        b.clear();
        (&mut file).take(BLOCK_BYTES as u64).read_to_end(&mut a)?;
        entry.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut b)?;
        if a != b {
            return Ok(false);
        }
        if a.is_empty() {
            return Ok(true);
        }
    }
}

/// An error unless every file of an archive can be read and has its checksum.
fn whole(archive: &Path) -> Result<()> {
    let mut zip = zip::ZipArchive::new(File::open(archive)?)?;
    for idx in 0..zip.len() {
        std::io::copy(&mut zip.by_index(idx)?, &mut std::io::sink())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::sync::mpsc;

    use super::*;

    fn archive() -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let stored =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file("dataperf_en_data/eval.yaml", stored)
            .expect("an entry");
        zip.write_all(&b"targets: {}\n".repeat(50_000))
            .expect("its bytes");
        zip.finish().expect("an archive").into_inner()
    }

    /// Serves `archive` to one request after another over HTTP; the first answer breaks off in the middle. Reports
    /// each request's `Range` header.
    fn serve(archive: Vec<u8>) -> (String, mpsc::Receiver<Option<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (ranges, seen) = mpsc::channel();
        std::thread::spawn(move || {
            for (n_served, stream) in listener.incoming().flatten().enumerate() {
                let lines: Vec<String> = BufReader::new(&stream)
                    .lines()
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .collect();
                let range = lines.iter().find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("range: ")
                        .map(str::to_owned)
                });
                let from: usize = range.as_deref().map_or(0, |range| {
                    range["bytes=".len()..range.len() - 1].parse().expect("a number")
                });
                let end = if n_served == 0 {
                    archive.len() / 2
                } else {
                    archive.len()
                };
                let status = if from == 0 {
                    "200 OK"
                } else {
                    "206 Partial Content"
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\netag: \"one\"\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    archive.len() - from
                );
                let _ = (&stream)
                    .write_all(head.as_bytes())
                    .and_then(|()| (&stream).write_all(&archive[from..end]));
                ranges.send(range).expect("the test listens");
            }
        });
        (url, seen)
    }

    #[test]
    fn goes_on_where_it_broke_off() {
        let (bytes, out) = (archive(), tempfile::tempdir().expect("a directory"));
        let half = bytes.len() / 2;
        let (url, ranges) = serve(bytes);
        let path = out.path().join("x.zip");
        let broken = download(&url, &path).expect_err("it breaks off");
        assert!(
            format!("{broken:#}").contains("run the command again"),
            "{broken:#}"
        );
        download(&url, &path).expect("the rest comes");
        assert_eq!(
            ranges.iter().take(2).collect::<Vec<_>>(),
            [None, Some(format!("bytes={half}-"))]
        );
        unpack(&path, out.path()).expect("a whole archive");
        let unpacked = fs::read(out.path().join("dataperf_en_data/eval.yaml")).expect("the file");
        assert_eq!(unpacked, b"targets: {}\n".repeat(50_000));
    }

    #[test]
    fn an_existing_damaged_archive_is_refused_and_kept() {
        let out = tempfile::tempdir().expect("a directory");
        let path = out.path().join("x.zip");
        let mut bytes = archive();
        bytes[1_000] ^= 1;
        fs::write(&path, &bytes).expect("written");
        let refused = download("http://127.0.0.1:1/x.zip", &path).expect_err("not whole");
        assert!(format!("{refused:#}").contains("move it away"), "{refused:#}");
        assert_eq!(fs::read_dir(out.path()).expect("a directory").count(), 1);
        assert!(unpack(&path, out.path()).is_err());
        assert!(!out.path().join("dataperf_en_data/eval.yaml").exists());
        assert_eq!(fs::read(&path).expect("it is still there"), bytes);
    }

    #[test]
    fn a_damaged_download_never_gets_the_final_name() {
        let out = tempfile::tempdir().expect("a directory");
        let path = out.path().join("x.zip");
        let mut bytes = archive();
        bytes[1_000] ^= 1;
        let (url, _ranges) = serve(bytes);
        download(&url, &path).expect_err("it breaks off");
        let damaged = download(&url, &path).expect_err("a byte is another");
        assert!(
            format!("{damaged:#}").contains("did not send a complete zip archive"),
            "{damaged:#}"
        );
        assert!(!path.exists(), "it has no name of a whole archive");
        fs::remove_file(out.path().join("x.zip.part")).expect("it is there");
    }

    #[test]
    fn a_foreign_partial_download_is_kept() {
        let out = tempfile::tempdir().expect("a directory");
        let part = out.path().join("x.zip.part");
        fs::write(&part, "mine").expect("written");
        let refused =
            download("http://127.0.0.1:1/x.zip", &out.path().join("x.zip")).expect_err("it is there");
        assert!(format!("{refused:#}").contains("move it away"), "{refused:#}");
        assert_eq!(fs::read(&part).expect("it is still there"), b"mine");
    }

    #[test]
    fn edited_unpacked_files_stay_unchanged() {
        let out = tempfile::tempdir().expect("a directory");
        let path = out.path().join("x.zip");
        fs::write(&path, archive()).expect("written");
        let file = out.path().join("dataperf_en_data/eval.yaml");
        for _ in 0..2 {
            unpack(&path, out.path()).expect("the same again");
        }
        fs::write(&file, "mine").expect("edited");
        let refused = unpack(&path, out.path()).expect_err("another file is there");
        assert!(
            format!("{refused:#}").contains("nothing is overwritten"),
            "{refused:#}"
        );
        assert_eq!(fs::read(&file).expect("the file"), b"mine");
        #[cfg(unix)]
        {
            let elsewhere = out.path().join("elsewhere");
            fs::remove_file(&file).expect("removed");
            std::os::unix::fs::symlink(&elsewhere, &file).expect("a link");
            unpack(&path, out.path()).expect_err("a link is there");
            assert!(!elsewhere.exists(), "no file is made behind a link");
        }
    }
}
