//! Listening, and serving HTTP until told to stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Response};
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access::{Admission, Hosts};
use crate::config::{Config, OutsideService, SECRET_ACCESS_KEY};
use crate::error::StartError;

/// How long open requests may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// A port that listens, its URL, and the names it is reached by.
pub(crate) struct Port {
    pub(crate) listener: TcpListener,
    pub(crate) endpoint: String,
    pub(crate) hosts: Hosts,
}

impl Port {
    async fn open(
        host: IpAddr,
        port: u16,
        service: &'static str,
        option: &'static str,
        allowed_hosts: &[String],
    ) -> Result<Self, StartError> {
        let listener = listen(host, port, service, option).await?;
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            host: host.to_string(),
            port,
            service,
            option,
            source,
        })?;
        Ok(Self {
            listener,
            endpoint: endpoint(address),
            hosts: Hosts::new(address, allowed_hosts),
        })
    }
}

/// All ports of a cloud.
pub(crate) struct Ports {
    pub(crate) s3: Port,
    pub(crate) dynamodb: Port,
    pub(crate) lambda: Port,
    /// By the name of the service of others.
    pub(crate) outside: Vec<(&'static str, Port)>,
    pub(crate) http: Option<Port>,
}

impl Ports {
    /// Opens them as `config` says, or names the option that changes the one that can't be opened.
    pub(crate) async fn open(config: &Config) -> Result<Self, StartError> {
        let (host, names) = (config.host, &*config.allowed_hosts);
        if !host.is_loopback() && config.organizer.secret == SECRET_ACCESS_KEY {
            return Err(StartError::KnownKey {
                host,
                access_key: config.organizer.id.clone(),
            });
        }
        // only functions use them, and who plays them may have a key that is known
        let inside = if host.is_loopback() {
            host
        } else {
            Ipv4Addr::LOCALHOST.into()
        };
        let mut outside = Vec::with_capacity(config.outside.len());
        for OutsideService {
            name, port, option, ..
        } in &config.outside
        {
            outside.push((*name, Port::open(inside, *port, name, option, &[]).await?));
        }
        let http = async |port| Port::open(host, port, "the web page", "--http-port", names).await;
        Ok(Self {
            s3: Port::open(host, config.s3_port, "S3", "--s3-port", names).await?,
            dynamodb: Port::open(host, config.dynamodb_port, "DynamoDB", "--dynamodb-port", names).await?,
            lambda: Port::open(host, config.lambda_port, "Lambda", "--lambda-port", names).await?,
            outside,
            http: match config.http_port {
                Some(port) => Some(http(port).await?),
                None => None,
            },
        })
    }
}

/// Listens on a port, or says which option changes it.
async fn listen(
    host: IpAddr,
    port: u16,
    service: &'static str,
    option: &'static str,
) -> Result<TcpListener, StartError> {
    TcpListener::bind((host, port))
        .await
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => StartError::PortInUse {
                port,
                service,
                option,
            },
            _ => StartError::Listen {
                host: host.to_string(),
                port,
                service,
                option,
                source,
            },
        })
}

/// The URL of what listens.
fn endpoint(address: SocketAddr) -> String {
    // all addresses of the machine are reached by its loopback address too
    let address = if address.ip().is_unspecified() {
        SocketAddr::from(([127, 0, 0, 1], address.port()))
    } else {
        address
    };
    format!("http://{address}")
}

/// Serves what `admission` lets in on every connection until `stop`; then lets open requests end, for a while, and closes the
/// rest.
pub(crate) async fn serve<S, B>(
    listener: TcpListener,
    admission: Admission,
    service: S,
    stop: CancellationToken,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // out of file descriptors, for one: wait until some are closed
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
        };
        let _ = stream.set_nodelay(true);
        let (service, admission, stop) = (service.clone(), admission.clone(), stop.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let admitted = admission.admit(&request);
            let answer = admitted.map(|admitted| (admitted, service.call(request)));
            async move {
                match answer {
                    Ok((admitted, answer)) => {
                        let mut response = answer.await?;
                        admitted.finish(response.headers_mut());
                        Ok::<_, S::Error>(response.map(Either::Left))
                    }
                    Err(refusal) => Ok((*refusal).map(Either::<B, Full<Bytes>>::Right)),
                }
            }
        });
        let service = closing_after_expectations(service);
        connections.spawn(async move {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, all_ended).await;
    connections.shutdown().await;
}

/// Closes the connection after an answer that came instead of the `100 Continue` that the client expected: when the body
/// is empty, for which hyper sends none, or the request was refused before its body was read. HTTP allows such an answer
/// on a connection that stays open, but botocore, and with it the AWS command line, then takes its status line for that of
/// the next answer, and hangs.
fn closing_after_expectations<S, B>(
    service: S,
) -> impl Service<Request<Incoming>, Response = Response<B>, Error = S::Error, Future: Send>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body,
{
    service_fn(move |request: Request<Incoming>| {
        let expects = request.headers().contains_key(EXPECT);
        let is_empty = request.body().is_end_stream();
        let answer = service.call(request);
        async move {
            let mut answer = answer.await?;
            if expects && (is_empty || !answer.status().is_success()) {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            Ok(answer)
        }
    })
}
