//! Errors as people read them: what could not be done, why, and what to do.

use anyhow::Error;

/// A known error of the SDK, and its remedy.
struct Remedy {
    /// Words by which the error is recognized.
    marks: &'static [&'static str],
    /// Whether the innermost cause is shown too.
    shows_last: bool,
    /// How to fix it.
    fix: &'static str,
}

/// The first that is found explains the error.
const REMEDIES: [Remedy; 3] = [
    Remedy {
        marks: &[
            "no credentials found",
            "credential provider was not enabled",
            "IMDS is disabled",
        ],
        shows_last: false,
        fix: "there are no AWS credentials. If you have a token, run `dataperf login`. For the cloud on this machine add `--cloud local`; for AWS \
         sign in with its command line, or set `AWS_PROFILE`",
    },
    Remedy {
        marks: &["A region must be set", "`region` - must be a valid host label"],
        shows_last: false,
        fix: "there is no AWS region. If you have a token, run `dataperf login`. For the cloud on this machine add `--cloud local`; for AWS set \
         `AWS_REGION` or `AWS_PROFILE`",
    },
    Remedy {
        // what the SDK calls a request that got no connection
        marks: &["dispatch failure"],
        shows_last: true,
        fix: "nothing answers at this address. For the cloud on this machine start `dataperf local` first, or give its page's address with \
         `--cloud`; for AWS check the network and the region",
    },
];
/// Words of an error that are redundant once the cause is known.
const TEMPORARILY: &str = ": temporarily unavailable";
const REFUSED: &str = ": refused by the service; check its name, region and permissions";

/// An error and its causes, without repeating the text of an outer message. If one cause explains
/// it, the cause and its remedy replace the messages of the layers below.
pub(crate) fn in_lines(error: &Error) -> String {
    let mut lines: Vec<String> = Vec::new();
    for cause in error.chain() {
        let message = cause.to_string();
        if !lines.iter().any(|line| line.contains(&message)) {
            lines.push(message);
        }
    }
    let has = |marks: &[&str]| {
        lines
            .iter()
            .any(|line| marks.iter().any(|mark| line.contains(mark)))
    };
    if let Some(Remedy {
        marks,
        shows_last,
        fix: remedy,
    }) = REMEDIES.iter().find(|remedy| has(remedy.marks))
    {
        let is_of_sdk =
            |line: &String| marks.iter().any(|mark| line.contains(mark)) || line.contains("dispatch failure");
        let first = lines.iter().position(is_of_sdk).unwrap_or_default().max(1); // what was to be done stays
        let last = lines.last().filter(|_| lines.len() > first + 1).cloned();
        lines.truncate(first);
        lines[0] = lines[0].replace(TEMPORARILY, "").replace(REFUSED, "");
        lines.extend(last.filter(|_| *shows_last));
        lines.push((*remedy).to_owned());
    }
    lines.join("\n  because: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(causes: &[&'static str]) -> String {
        let mut causes = causes.iter().rev();
        let innermost = Error::msg(*causes.next().unwrap_or(&""));
        in_lines(&causes.fold(innermost, |error, cause| error.context(*cause)))
    }

    #[test]
    fn repeated_error_layers_collapse_into_one_cause() {
        let message = explain(&[
            "querying table `dataperf`: temporarily unavailable",
            "dispatch failure",
            "io error",
            "tcp connect error",
            "Connection refused (os error 111)",
        ]);
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "querying table `dataperf`",
                "  because: Connection refused (os error 111)"
            ]
        );
        assert!(
            lines[2].contains("start `dataperf local` first") && lines.len() == 3,
            "{message}"
        );
    }

    #[test]
    fn missing_credentials_or_region_suggest_naming_a_cloud() {
        for cause in [
            "no credentials found in chain. Attempted:\nEnvironment: not set",
            "A region must be set when sending requests to S3.",
        ] {
            let message = explain(&[
                "reading `s3://x/y`: temporarily unavailable",
                "dispatch failure",
                "other",
                cause,
            ]);
            assert_eq!(message.lines().count(), 2, "{message}");
            assert!(
                message.starts_with("reading `s3://x/y`\n") && message.contains("add `--cloud local`"),
                "{message}"
            );
        }
    }

    #[test]
    fn other_causes_are_listed_once() {
        let message = explain(&["can't read `x`", "it is not here: gone", "gone"]);
        assert_eq!(message, "can't read `x`\n  because: it is not here: gone");
    }
}
