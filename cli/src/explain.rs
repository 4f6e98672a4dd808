//! Errors as people read them: what could not be done, why, and what to do.

use anyhow::Error;

/// What the SDK says in place of a cause that has a remedy.
struct Remedy {
    /// What it says.
    marks: &'static [&'static str],
    /// Whether the innermost cause is shown too.
    shows_last: bool,
    /// How to fix it.
    fix: &'static str,
}

/// The first that is found explains the error.
const REMEDIES: [Remedy; 3] = [
    Remedy {
        marks: &["no credentials found", "credential provider was not enabled"],
        shows_last: false,
        fix: "there are no AWS credentials. For the cloud on this machine add `--cloud local`; for AWS sign in with its command line, or set \
         `AWS_PROFILE`",
    },
    Remedy {
        marks: &["A region must be set", "`region` - must be a valid host label"],
        shows_last: false,
        fix: "there is no AWS region. For the cloud on this machine add `--cloud local`; for AWS set `AWS_REGION` or `AWS_PROFILE`",
    },
    Remedy {
        // what the SDK calls a request that got no connection
        marks: &["dispatch failure"],
        shows_last: true,
        fix: "nothing answers at this address. For the cloud on this machine start `dataperf local` first, or give its page's address with \
         `--cloud`; for AWS check the network and the region",
    },
];
/// What is no more to be said once the cause is known.
const TEMPORARILY: &str = ": temporarily unavailable";
const REFUSED: &str = ": refused by the service; check its name, region and permissions";

/// An error and its causes, without repeating what an outer message already contains. Where one cause explains it, that and the remedy
/// stand for what the layers below have said.
pub(crate) fn in_lines(error: &Error) -> String {
    let mut lines: Vec<String> = Vec::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if !lines.iter().any(|line| line.contains(&said)) {
            lines.push(said);
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

    fn of(causes: &[&'static str]) -> String {
        let mut causes = causes.iter().rev();
        let innermost = Error::msg(*causes.next().unwrap_or(&""));
        in_lines(&causes.fold(innermost, |error, cause| error.context(*cause)))
    }

    #[test]
    fn one_cause_stands_for_what_layers_say() {
        let said = of(&[
            "querying table `dataperf`: temporarily unavailable",
            "dispatch failure",
            "io error",
            "tcp connect error",
            "Connection refused (os error 111)",
        ]);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "querying table `dataperf`",
                "  because: Connection refused (os error 111)"
            ]
        );
        assert!(
            lines[2].contains("start `dataperf local` first") && lines.len() == 3,
            "{said}"
        );
    }

    #[test]
    fn a_cloud_that_is_not_named_is_asked_for() {
        for cause in [
            "no credentials found in chain. Attempted:\nEnvironment: not set",
            "A region must be set when sending requests to S3.",
        ] {
            let said = of(&[
                "reading `s3://x/y`: temporarily unavailable",
                "dispatch failure",
                "other",
                cause,
            ]);
            assert_eq!(said.lines().count(), 2, "{said}");
            assert!(
                said.starts_with("reading `s3://x/y`\n") && said.contains("add `--cloud local`"),
                "{said}"
            );
        }
    }

    #[test]
    fn other_causes_are_listed_once() {
        let said = of(&["can't read `x`", "it is not here: gone", "gone"]);
        assert_eq!(said, "can't read `x`\n  because: it is not here: gone");
    }
}
