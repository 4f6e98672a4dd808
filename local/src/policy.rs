//! Policies in the form of IAM's, as far as this project's go: actions and resources with `*` and `?`, the tags of principals, and two
//! operators of conditions. What is not understood allows nothing.

use std::collections::BTreeMap;

use serde::Deserialize;
use wildmatch::WildMatch;

/// A policy document that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("not a policy document: {0}")]
pub struct PolicyError(#[from] serde_json::Error);

/// A policy document.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Policy {
    #[serde(deserialize_with = "one_or_many")]
    statement: Vec<Statement>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Statement {
    #[serde(default, rename = "Sid")]
    _sid: String,
    effect: Effect,
    #[serde(deserialize_with = "one_or_many")]
    action: Vec<Pattern>,
    #[serde(deserialize_with = "one_or_many")]
    resource: Vec<Pattern>,
    #[serde(default)]
    condition: BTreeMap<String, BTreeMap<String, Values>>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Effect {
    Allow,
    Deny,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
struct Values(#[serde(deserialize_with = "one_or_many")] Vec<Pattern>);

/// A text in which `*` is any text and `?` any character.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "String")]
struct Pattern {
    text: String,
    /// `None` as long as it has a variable without a value: then it fits nothing, as in IAM.
    compiled: Option<WildMatch>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        let compiled = (!text.contains("${")).then(|| WildMatch::new(&text));
        Self { text, compiled }
    }
}

impl Pattern {
    fn fits(&self, text: &str) -> bool {
        self.compiled
            .as_ref()
            .is_some_and(|pattern| pattern.matches(text))
    }

    fn tag(&mut self, key: &str, value: &str) {
        let variable = format!("${{aws:PrincipalTag/{key}}}");
        *self = self.text.replace(&variable, value).into();
    }
}

fn any_fits(patterns: &[Pattern], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(text))
}

fn one_or_many<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany<T> {
        Many(Vec<T>),
        One(T),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::Many(many) => many,
        OneOrMany::One(one) => vec![one],
    })
}

/// A requested action.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) action: &'a str,
    pub(crate) resource: &'a str,
    /// The values of the request by the names of conditions' keys; a missing key satisfies no
    /// condition.
    pub(crate) context: BTreeMap<&'static str, Vec<String>>,
}

impl Policy {
    /// Reads a document.
    ///
    /// # Errors
    /// [`PolicyError`].
    pub fn parse(json: &str) -> Result<Self, PolicyError> {
        Ok(serde_json::from_str(json)?)
    }

    /// The policy as it holds for whom has this tag: the variable `${aws:PrincipalTag/KEY}` has its value. A tag is a name, without `*`, `?`
    /// and `$`.
    #[must_use]
    pub fn tagged(mut self, key: &str, value: &str) -> Self {
        for statement in &mut self.statement {
            let conditions = statement.condition.values_mut().flat_map(BTreeMap::values_mut);
            let conditions = conditions.flat_map(|values| &mut values.0);
            for pattern in statement.resource.iter_mut().chain(conditions) {
                pattern.tag(key, value);
            }
        }
        self
    }

    /// Whether a statement allows it and none denies it.
    pub(crate) fn allows(&self, request: &Request<'_>) -> bool {
        let says = |effect| {
            let mut of_effect = self
                .statement
                .iter()
                .filter(|statement| statement.effect == effect);
            of_effect.any(|statement| statement.applies(request))
        };
        says(Effect::Allow) && !says(Effect::Deny)
    }
}

impl Statement {
    fn applies(&self, request: &Request<'_>) -> bool {
        any_fits(&self.action, request.action)
            && any_fits(&self.resource, request.resource)
            && self.condition.iter().all(|(operator, keys)| {
                keys.iter().all(|(key, patterns)| {
                    self.holds(operator, request.context.get(key.as_str()), &patterns.0)
                })
            })
    }

    fn holds(&self, operator: &str, values: Option<&Vec<String>>, patterns: &[Pattern]) -> bool {
        match (operator, values) {
            // IAM takes an absent key for fitting `ForAllValues`; here every request has the key
            ("StringLike" | "ForAllValues:StringLike", Some(values)) => {
                !values.is_empty() && values.iter().all(|text| any_fits(patterns, text))
            }
            ("StringLike" | "ForAllValues:StringLike", None) => false,
            _ => self.effect == Effect::Deny,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_iam() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a/*/b/*", "a/x/b/y", true),
            ("a/*/b/*", "a/x/y/b/", true), // a star takes slashes too
            ("a/b/*", "a/b", false),
            ("s3:Get*", "s3:GetObject", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("abc", "abcd", false),
            ("*a*b", "xaxb", true),
            ("*a*b", "xaxbc", false),
        ] {
            let pattern = Pattern::from(pattern.to_owned());
            assert_eq!(pattern.fits(text), fits, "{pattern:?} {text}");
        }
    }

    fn allows(policy: &str, action: &str, resource: &str, keys: Option<&[&str]>) -> bool {
        let context = keys.map(|keys| {
            (
                "dynamodb:LeadingKeys",
                keys.iter().map(ToString::to_string).collect(),
            )
        });
        Policy::parse(policy).unwrap().allows(&Request {
            action,
            resource,
            context: context.into_iter().collect(),
        })
    }

    #[test]
    fn a_tag_replaces_its_policy_variable() {
        let policy = r#"{"Statement": [
            {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "arn:b/*/${aws:PrincipalTag/submitter}/*"},
            {"Effect": "Allow", "Action": "dynamodb:Query", "Resource": "arn:t",
             "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/rater}#${aws:PrincipalTag/submitter}"}}}
        ]}"#;
        let untagged = Policy::parse(policy).unwrap();
        let ada = untagged.clone().tagged("submitter", "ada");
        let rater = ada.clone().tagged("rater", "text");
        let puts = |policy: &Policy, resource: &str| {
            policy.allows(&Request {
                action: "s3:PutObject",
                resource,
                context: BTreeMap::new(),
            })
        };
        assert!(puts(&ada, "arn:b/x/ada/1") && !puts(&ada, "arn:b/x/bo/1"));
        assert!(
            !puts(&untagged, "arn:b/x/ada/1") && !puts(&untagged, "arn:b/x/${aws:PrincipalTag/submitter}/1")
        );
        let queries = |policy: &Policy, key: &str| {
            policy.allows(&Request {
                action: "dynamodb:Query",
                resource: "arn:t",
                context: [("dynamodb:LeadingKeys", vec![key.to_owned()])].into(),
            })
        };
        assert!(queries(&rater, "text#ada") && !queries(&rater, "text#bo") && !queries(&ada, "#ada"));
    }

    #[test]
    fn a_denial_wins_and_conditions_must_hold() {
        let policy = r#"{"Version": "2012-10-17", "Statement": [
            {"Sid": "A", "Effect": "Allow", "Action": ["s3:GetObject", "dynamodb:PutItem"], "Resource": "arn:r/*",
             "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "b#*"}}},
            {"Effect": "Allow", "Action": "s3:PutObject", "Resource": ["arn:r/x/*", "arn:r/secret"]},
            {"Effect": "Deny", "Action": "*", "Resource": "arn:r/secret", "Condition": {"Unheard": {"of": "x"}}}
        ]}"#;
        assert!(allows(
            policy,
            "dynamodb:PutItem",
            "arn:r/t",
            Some(&["b#1", "b#2"])
        ));
        assert!(!allows(
            policy,
            "dynamodb:PutItem",
            "arn:r/t",
            Some(&["b#1", "c#2"])
        ));
        assert!(!allows(policy, "dynamodb:PutItem", "arn:r/t", None));
        assert!(allows(policy, "s3:PutObject", "arn:r/x/y", None));
        assert!(!allows(policy, "s3:PutObject", "arn:r/y", None));
        assert!(!allows(policy, "s3:PutObject", "arn:r/secret", None));
        assert!(!allows(policy, "s3:DeleteObject", "arn:r/x/y", None));
        assert!(Policy::parse("{}").is_err());
        let unknown =
            r#"{"Statement": {"Effect": "Allow", "Action": "s3:*", "NotResource": "a", "Resource": "*"}}"#;
        assert!(
            Policy::parse(unknown).is_err(),
            "a part that is not understood is no policy"
        );
    }
}
