//! Rows of the index: uploads that are under way, and their parts.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use md5::{Digest, Md5};
use rusqlite::{Connection, OptionalExtension, Transaction};
use s3s::dto::CompletedPart;
use s3s::s3_error;
use sha2::Sha256;

use crate::s3::bodies::hex;
use crate::s3::failure::Failure;
use crate::s3::headers::{Checksums, ObjectHeaders};
use crate::s3::index;

/// The smallest part, in bytes; the last part may be smaller.
const MIN_PART_BYTES: u64 = 5 << 20;
/// The name of an upload that is under way.
#[derive(Clone, Debug)]
pub(crate) struct UploadName {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) id: String,
}

/// A part that was uploaded.
#[derive(Clone, Debug)]
pub(crate) struct StoredPart {
    pub(crate) number: i32,
    pub(crate) body: String,
    pub(crate) n_bytes: u64,
    pub(crate) etag: String,
    pub(crate) checksums: Checksums,
}

/// The headers of an upload; `NoSuchUpload` if it does not exist.
pub(crate) fn upload_headers(connection: &Connection, upload: &UploadName) -> Result<ObjectHeaders, Failure> {
    index::versioning(connection, &upload.bucket)?;
    let sql = "SELECT headers FROM upload WHERE id = ? AND bucket = ? AND key = ?";
    let headers: Option<String> = connection
        .prepare_cached(sql)?
        .query_row([&upload.id, &upload.bucket, &upload.key], |row| row.get(0))
        .optional()?;
    match headers {
        Some(headers) => Ok(serde_json::from_str(&headers)?),
        None => Err(s3_error!(
            NoSuchUpload,
            "no upload `{}` of `{}` is under way",
            upload.id,
            upload.key
        )
        .into()),
    }
}

/// When an upload began.
pub(crate) fn begun_ms(connection: &Connection, upload: &UploadName) -> Result<i64, Failure> {
    let sql = "SELECT created_ms FROM upload WHERE id = ?";
    Ok(connection.query_row(sql, [&upload.id], |row| row.get(0))?)
}

/// The parts of an upload in order.
pub(crate) fn parts(connection: &Connection, upload: &UploadName) -> Result<Vec<StoredPart>, Failure> {
    let sql = "SELECT number, body, n_bytes, etag, checksums FROM part WHERE upload_id = ? ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([&upload.id], |row| {
        let checksums: String = row.get(4)?;
        let part = StoredPart {
            number: row.get(0)?,
            body: row.get(1)?,
            n_bytes: row.get(2)?,
            etag: row.get(3)?,
            checksums: Checksums::default(),
        };
        Ok((part, checksums))
    })?;
    rows.map(|row| {
        let (part, checksums) = row?;
        Ok(StoredPart {
            checksums: serde_json::from_str(&checksums)?,
            ..part
        })
    })
    .collect()
}

/// The parts that the client lists, checked: in order, as uploaded, and large enough.
pub(crate) fn chosen_parts(
    stored: &[StoredPart],
    listed: &[CompletedPart],
) -> Result<Vec<StoredPart>, Failure> {
    if listed.is_empty() {
        return Err(s3_error!(MalformedXML, "the list of parts is empty").into());
    }
    let mut chosen: Vec<StoredPart> = Vec::with_capacity(listed.len());
    for part in listed {
        let number = part.part_number.unwrap_or_default();
        if chosen.last().is_some_and(|before| before.number >= number) {
            return Err(s3_error!(
                InvalidPartOrder,
                "part `{number}` is not listed in ascending order"
            )
            .into());
        }
        let stored_part = stored.iter().find(|stored| stored.number == number);
        match (stored_part, &part.e_tag) {
            (Some(stored_part), Some(etag)) if etag.value() == stored_part.etag => {
                chosen.push(stored_part.clone());
            }
            _ => {
                return Err(s3_error!(
                    InvalidPart,
                    "part `{number}` was not uploaded, or has another `ETag`"
                )
                .into());
            }
        }
    }
    let all_but_last = &chosen[..chosen.len() - 1];
    if let Some(small) = all_but_last.iter().find(|part| part.n_bytes < MIN_PART_BYTES) {
        let (number, n_bytes) = (small.number, small.n_bytes);
        return Err(s3_error!(
            EntityTooSmall,
            "part `{number}` has {n_bytes} bytes, less than {MIN_PART_BYTES}"
        )
        .into());
    }
    Ok(chosen)
}

/// The `ETag` of an object that came in parts: the digest of the parts' digests, and their number.
pub(crate) fn etag_of_parts(parts: &[StoredPart]) -> String {
    let mut md5 = Md5::new();
    for part in parts {
        let digits = part.etag.as_bytes().chunks_exact(2);
        let bytes = digits.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        md5.update(bytes.collect::<Vec<u8>>());
    }
    let digest: [u8; 16] = md5.finalize().into();
    format!("{}-{}", hex(&digest), parts.len())
}

/// The checksum of an object that came in parts, where each part had one: the digest of the parts' digests, and their number.
pub(crate) fn checksums_of_parts(parts: &[StoredPart]) -> Checksums {
    use sha2::Digest as _;
    let mut sha256 = Sha256::new();
    for part in parts {
        let Some(digest) = part.checksums.sha256.as_deref() else {
            return Checksums::default();
        };
        sha256.update(BASE64_STANDARD.decode(digest).unwrap_or_default()); // it was compared with the part's own
    }
    Checksums {
        sha256: Some(format!(
            "{}-{}",
            BASE64_STANDARD.encode(sha256.finalize()),
            parts.len()
        )),
        ..Checksums::default()
    }
}

/// Ends an upload, and with it the rows of its parts.
pub(crate) fn remove_upload(transaction: &Transaction<'_>, upload: &UploadName) -> Result<(), Failure> {
    upload_headers(transaction, upload)?;
    transaction.execute("DELETE FROM upload WHERE id = ?", [&upload.id])?;
    Ok(())
}
