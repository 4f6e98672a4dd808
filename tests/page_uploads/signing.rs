//! Calls the function that signs forms as every kind of caller, and sends its forms like a browser.

use dataperf_aws::{Holder, Issued, Token, days_after};
use serde_json::{Value, json};

use crate::support::project::BENCHMARK;
use crate::support::world::World;

const BOUNDARY: &str = "between-the-fields";

/// A cloud with the function, and tokens.
pub(super) struct Signing {
    pub(super) world: World,
    pub(super) base: String,
}

pub(super) fn token_of(who: &str) -> Token {
    let n = ["ada", "bo", "organizer", "revoked", "expired", "elsewhere"]
        .iter()
        .position(|known| *known == who);
    Token::from_random([u8::try_from(n.unwrap()).unwrap(); 32])
}

impl Signing {
    pub(super) async fn new(world: World) -> Self {
        let base = world.serve_function("uploads");
        let (table, now) = (world.leaderboards(), dataperf_aws::now());
        for (who, name, days) in [
            ("ada", Some("ada"), 1),
            ("bo", Some("bo"), 1),
            ("organizer", None, 1),
            ("revoked", Some("ada"), 1),
            ("expired", Some("ada"), 0),
            ("elsewhere", Some("ada"), 1),
        ] {
            let holder = name.map_or(Holder::Organizer, |name| Holder::Submitter(name.parse().unwrap()));
            let token = token_of(who);
            let benchmarks = if who == "elsewhere" {
                vec!["curation".to_owned()]
            } else {
                Vec::new()
            };
            let issued = Issued {
                digest: token.digest(),
                holder,
                benchmarks,
                issued_at: now,
                expires_at: days_after(now, days),
            };
            table.issue(&issued).await.unwrap();
            if who == "revoked" {
                table.revoke(&token.digest()).await.unwrap();
            }
        }
        Self { world, base }
    }

    /// The function's answer to somebody.
    pub(super) fn ask(&self, who: &str, body: &str) -> (u16, Value) {
        let token = match who {
            "anonymous" => None,
            "malformed" => Some("dpk_short".to_owned()),
            who => Some(token_of(who).secret().to_owned()),
        };
        let agent = agent();
        let mut request = agent.post(format!("{}/api/v1/uploads", self.base));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let (status, text, media) = tokio::task::block_in_place(|| {
            let mut response = request.send(body).unwrap();
            let media = response.headers()["content-type"].to_str().unwrap().to_owned();
            assert_eq!(response.headers()["cache-control"], "no-store");
            (
                response.status().as_u16(),
                response.body_mut().read_to_string().unwrap(),
                media,
            )
        });
        let wanted = if status == 201 {
            "application/json"
        } else {
            "application/problem+json"
        };
        assert_eq!(media, wanted, "{text}");
        (status, serde_json::from_str(&text).unwrap())
    }

    /// A form for ada's next upload to `en-25`.
    pub(super) fn form(&self) -> Form {
        let (status, answer) = self.ask("ada", &question(&json!({})));
        assert_eq!(status, 201, "{answer}");
        let field = |field: &Value| {
            let text = |name: &str| field[name].as_str().unwrap().to_owned();
            (text("name"), text("value"))
        };
        Form {
            url: answer["url"].as_str().unwrap().to_owned(),
            fields: answer["fields"].as_array().unwrap().iter().map(field).collect(),
            answer,
        }
    }
}

/// The request, with some additional members.
pub(super) fn question(own: &Value) -> String {
    let mut request = json!({ "benchmark": BENCHMARK, "leaderboard": "en-25", "file": "my selection.json", "n_bytes": 100 });
    for (name, value) in own.as_object().unwrap() {
        request[name] = value.clone();
    }
    request.to_string()
}

pub(super) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.build().into()
}

/// A signed form.
#[derive(Clone)]
pub(super) struct Form {
    pub(super) url: String,
    pub(super) fields: Vec<(String, String)>,
    pub(super) answer: Value,
}

impl Form {
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self
    }

    /// Sends it as a browser does; the status.
    pub(super) fn send(&self, file: &[u8]) -> u16 {
        let mut body = Vec::new();
        for (name, value) in &self.fields {
            let part =
                format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(part.as_bytes());
        }
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.json\"\r\nContent-Type: application/json\r\n\r\n"
        );
        body.extend_from_slice(part.as_bytes());
        body.extend_from_slice(file);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        let request = agent().post(&self.url).header(
            "content-type",
            format!("multipart/form-data; boundary={BOUNDARY}"),
        );
        tokio::task::block_in_place(|| request.send(&body[..]).unwrap().status().as_u16())
    }
}
