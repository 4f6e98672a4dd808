//! A function for the tests of the function host: what it does is written in the key of the object.
//!
//! A key holds words between `/`: `sleep-50` waits 50 ms, `linger-50` only in the first attempt, `error` answers with an error, `panic` panics, `exit` ends the
//! process with code 3, `flaky-2` fails in the first two attempts, `hang` never answers. Each attempt adds a line to the
//! file `attempts` in the directory `ECHO_DIR`. With `ECHO_INIT=exit` the process ends before it asks for work.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is what a tool for tests should do

use std::io::Write as _;
use std::time::Duration;

use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[derive(Debug)]
struct RequestedError(String);

impl From<RequestedError> for Diagnostic {
    fn from(request: RequestedError) -> Self {
        Self {
            error_type: "AskedFor".into(),
            error_message: request.0,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    if std::env::var("ECHO_INIT").as_deref() == Ok("exit") {
        std::process::exit(7);
    }
    lambda_runtime::run(service_fn(echo)).await
}

async fn echo(event: LambdaEvent<Value>) -> Result<Value, RequestedError> {
    let (payload, context) = event.into_parts();
    let key = payload["Records"][0]["s3"]["object"]["key"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let n_attempts = note_attempt(&key, &payload, &context);
    #[allow(clippy::print_stdout)] // what a function prints is its log
    {
        println!("echo {key}");
    }
    for word in key.split('/') {
        match word.split_once('-').unwrap_or((word, "")) {
            ("linger", ms) if n_attempts == 1 => tokio::time::sleep(Duration::from_millis(number(ms))).await,
            ("sleep", ms) => tokio::time::sleep(Duration::from_millis(number(ms))).await,
            ("error", _) => return Err(RequestedError(key)),
            ("panic", _) => panic!("asked to panic"),
            ("exit", _) => std::process::exit(3),
            ("hang", _) => std::future::pending().await,
            ("flaky", n) if n_attempts <= number(n) => {
                return Err(RequestedError(format!("attempt {n_attempts}")));
            }
            _ => {}
        }
    }
    Ok(json!({"key": key}))
}

/// Writes the attempt down; which attempt at the key it is.
fn note_attempt(key: &str, payload: &Value, context: &lambda_runtime::Context) -> u64 {
    let Ok(dir) = std::env::var("ECHO_DIR") else {
        return 1;
    };
    let line = json!({
        "key": key,
        "pid": std::process::id(),
        "request_id": context.request_id,
        "deadline_ms": context.deadline,
        "arn": context.invoked_function_arn,
        "memory_mb": context.env_config.memory,
        "event": payload,
    });
    let path = format!("{dir}/attempts");
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
    let lines = std::fs::read_to_string(&path).unwrap();
    lines
        .lines()
        .filter(|line| serde_json::from_str::<Value>(line).unwrap()["key"] == key)
        .count() as u64
}

fn number(text: &str) -> u64 {
    text.trim_end_matches(".json").parse().unwrap_or(0)
}
