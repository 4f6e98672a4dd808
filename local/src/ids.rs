//! Generates ids: of bodies, versions, uploads, processes and data directories.

/// An id that nothing else has.
pub(crate) fn fresh() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Whether `text` has the form of [`fresh`]'s ids: 32 hexadecimal digits in lower case.
pub(crate) fn is_one(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 32 && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_names_count_as_ids() {
        assert!(is_one(&fresh()));
        assert_ne!(fresh(), fresh());
        for other in [
            "",
            "src",
            "main.rs",
            &fresh()[1..],
            &fresh().to_uppercase().replace('0', "A"),
        ] {
            assert!(!is_one(other), "{other}");
        }
    }
}
