//! Measures the local cloud by itself: small puts, the table, process starts, and the cost of an invocation besides its work.
//!
//! `cargo run --release -p dataperf-local --example measure`, after `cargo build --release -p dataperf-local --examples`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is what a tool for tests should do

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use dataperf_local::{Bucket, Config, FunctionSpec, LocalCloud, TableSpec, Trigger};

/// A bucket, and the echo function on part of it.
fn config(dir: &Path) -> std::io::Result<Config> {
    let mut config = Config::new(dir);
    config.buckets = vec![Bucket::versioned("submissions")];
    config.table = Some(TableSpec::new("dataperf", "pk", "sk").indexed("ranking", "board", "rank"));
    config.functions = vec![FunctionSpec {
        name: "echo".into(),
        binary: std::env::current_exe()?.with_file_name("echo_function"),
        trigger: Trigger {
            bucket: "submissions".into(),
            prefix: "echo/".into(),
            suffix: String::new(),
        },
        memory_mb: 128,
        policy: None,
        timeout: Duration::from_secs(5),
        concurrency: 2,
        environment: BTreeMap::new(),
    }];
    Ok(config)
}

#[tokio::main]
#[allow(clippy::print_stdout, clippy::too_many_lines)] // one measurement after another
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let cloud = LocalCloud::start(config(dir.path())?).await?;
    let s3 = client(&cloud);

    for (n_clients, n_puts) in [(1_u32, 500_u32), (16, 2000)] {
        let began = Instant::now();
        let tasks: Vec<_> = (0..n_clients)
            .map(|at| {
                let s3 = s3.clone();
                tokio::spawn(async move {
                    for n in 0..n_puts / n_clients {
                        put(&s3, &format!("plain/{at}/{n}")).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await?;
        }
        let per_second = f64::from(n_puts) / began.elapsed().as_secs_f64();
        println!("{n_clients} clients: {per_second:.0} puts of 2 bytes a second");
    }

    let table = table(&cloud);
    for n_clients in [1_u32, 16] {
        for (operation, is_write) in [("writes", true), ("reads", false)] {
            let n = 2000;
            let (began, cpu) = (Instant::now(), cpu_seconds());
            let tasks: Vec<_> = (0..n_clients)
                .map(|at| {
                    let table = table.clone();
                    tokio::spawn(async move {
                        for n in 0..n / n_clients {
                            row(&table, &format!("{at}/{n}"), is_write).await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await?;
            }
            println!(
                "{n_clients} clients: {:.0} {operation} of a row a second, {:.0} us of processor time each, the client's included",
                f64::from(n) / began.elapsed().as_secs_f64(),
                (cpu_seconds() - cpu) / f64::from(n) * 1e6
            );
        }
    }

    let n_mib = 128_u32;
    let began = Instant::now();
    let large = vec![1_u8; (n_mib as usize) << 20];
    s3.put_object()
        .bucket("submissions")
        .key("large")
        .body(large.into())
        .send()
        .await?;
    println!(
        "one put of {n_mib} MiB: {:.0} MiB/s",
        f64::from(n_mib) / began.elapsed().as_secs_f64()
    );
    let began = Instant::now();
    let mut body = s3
        .get_object()
        .bucket("submissions")
        .key("large")
        .send()
        .await?
        .body;
    while body.next().await.transpose()?.is_some() {}
    println!(
        "one get of {n_mib} MiB: {:.0} MiB/s",
        f64::from(n_mib) / began.elapsed().as_secs_f64()
    );

    let mut upload_to_done = Vec::new();
    for n in 0..200 {
        let began = Instant::now();
        put(&s3, &format!("echo/{n}")).await;
        cloud.wait_idle(Duration::from_secs(10)).await?;
        upload_to_done.push(began.elapsed());
    }
    upload_to_done.sort_unstable();
    let median = upload_to_done[100].as_secs_f64() * 1e3;
    println!("put to finished invocation, warm, seen by the client: median {median:.2} ms");

    let mut enqueued_to_done = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        cloud.invoke("echo", &serde_json::json!({})).await?;
        cloud.wait_idle(Duration::from_secs(10)).await?;
        enqueued_to_done.push(began.elapsed());
    }
    enqueued_to_done.sort_unstable();
    let median = enqueued_to_done[100].as_secs_f64() * 1e3;
    println!("queued to finished invocation, warm: median {median:.2} ms");

    let began = Instant::now();
    for _ in 0..1000 {
        cloud.invoke("echo", &serde_json::json!({})).await?;
    }
    cloud.wait_idle(Duration::from_mins(1)).await?;
    println!(
        "1000 invocations by 2 processes: {:.0} a second",
        1000.0 / began.elapsed().as_secs_f64()
    );
    let echo = cloud.snapshot().await?.functions["echo"].clone();
    println!("process start to first `next`: {:.2} ms", echo.init.min_ms);
    println!(
        "handed out to answered: warm mean {:.2} ms, cold {:.2} ms",
        echo.warm.mean_ms(),
        echo.cold.mean_ms()
    );
    println!("peak memory of the function: {} KiB", echo.peak_memory_kib);
    cloud.shutdown().await;
    Ok(())
}

async fn put(s3: &aws_sdk_s3::Client, key: &str) {
    s3.put_object()
        .bucket("submissions")
        .key(key)
        .body(b"{}".to_vec().into())
        .send()
        .await
        .expect("a put");
}

/// Writes or reads one row.
async fn row(table: &aws_sdk_dynamodb::Client, key: &str, is_write: bool) {
    use aws_sdk_dynamodb::types::AttributeValue::S;
    if is_write {
        let put = table.put_item().table_name("dataperf");
        let put = put.item("pk", S(key.into())).item("sk", S("row".into()));
        put.item("board", S("b".into()))
            .item("rank", S(key.into()))
            .send()
            .await
            .expect("a write");
    } else {
        let get = table.get_item().table_name("dataperf");
        let get = get.key("pk", S(key.into())).key("sk", S("row".into()));
        get.send().await.expect("a read");
    }
}

/// The processor time of this process so far; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // behind the name, which may have spaces: user and system time are the 12th and 13th, in hundredths of a second
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn table(cloud: &LocalCloud) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
        .region(aws_sdk_dynamodb::config::Region::new("us-east-1"))
        .credentials_provider(aws_sdk_dynamodb::config::Credentials::new(
            "local", "local", None, None, "measure",
        ))
        .endpoint_url(cloud.dynamodb_endpoint())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}

fn client(cloud: &LocalCloud) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
        .region(aws_sdk_s3::config::Region::new(dataperf_local::REGION))
        .credentials_provider(aws_sdk_s3::config::Credentials::new(
            "local", "local", None, None, "local",
        ))
        .endpoint_url(cloud.s3_endpoint())
        .force_path_style(true)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_s3::Client::from_conf(config)
}
