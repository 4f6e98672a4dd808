//! Listens, and serves HTTP until stopped.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Response};
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::access::{Admission, Hosts};
use crate::config::{Config, OutsideService, SECRET_ACCESS_KEY};
use crate::error::StartError;

/// How long open requests may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(2);
/// The numbers of the error that the system knows no such kind of address, on Linux and on macOS.
const UNKNOWN_FAMILY: [i32; 2] = [97, 47];
/// How often to request a port that is free at both loopback addresses.
const MAX_TRIES: usize = 20;

/// The limits of a port on its connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The most connections that are open at once; further ones wait to be accepted.
    pub(crate) n_connections: usize,
    /// The time limit for the head of a request, from the moment that the connection can take it; a
    /// connection may be idle for as long. `None` sets no limit.
    pub(crate) head: Option<Duration>,
}

impl Bounds {
    /// The limits of ports that anybody on the machine can find. Clients keep idle connections for up to 90 s and end them themselves; `head` is
    /// longer, so that no request meets a connection that is being closed.
    pub(crate) const OPEN: Self = Self {
        n_connections: 1000,
        head: Some(Duration::from_secs(100)),
    };
    /// The limits of a port that one process asks for its work: its connection is idle while the process works.
    pub(crate) const OF_A_PROCESS: Self = Self {
        n_connections: 1000,
        head: None,
    };
}

/// The addresses of one port that are listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    first: TcpListener,
    /// The other loopback address, where `localhost` is this cloud's name and the machine has IPv6: what another user would serve there would have the
    /// same name.
    second: Option<TcpListener>,
}

/// Whether the machine has a loopback address: some have no IPv6.
async fn is_address_here(address: IpAddr) -> bool {
    let unavailable = |error: &io::Error| {
        error.kind() == io::ErrorKind::AddrNotAvailable
            || error.kind() == io::ErrorKind::Unsupported
            || UNKNOWN_FAMILY
                .iter()
                .any(|&number| error.raw_os_error() == Some(number))
    };
    !TcpListener::bind((address, 0))
        .await
        .is_err_and(|error| unavailable(&error))
}

impl From<TcpListener> for Listener {
    fn from(first: TcpListener) -> Self {
        Self { first, second: None }
    }
}

impl Listener {
    /// Listens on a port. Of port 0 the system chooses one.
    async fn bind(host: IpAddr, port: u16) -> io::Result<Self> {
        let mut n_tries = 0;
        loop {
            let first = TcpListener::bind((host, port)).await?;
            let other = match host {
                IpAddr::V4(Ipv4Addr::LOCALHOST | Ipv4Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
                IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
                _ => return Ok(first.into()), // `localhost` is not this cloud's name, or `::` is both
            };
            if !is_address_here(other).await {
                return Ok(first.into());
            }
            match TcpListener::bind((other, first.local_addr()?.port())).await {
                Ok(second) => {
                    let second = Some(second);
                    return Ok(Self { first, second });
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    n_tries += 1;
                    if port != 0 || n_tries == MAX_TRIES {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let second = async {
            match &self.second {
                Some(second) => second.accept().await,
                None => std::future::pending().await,
            }
        };
        let accepted = tokio::select! {
            accepted = self.first.accept() => accepted,
            accepted = second => accepted,
        };
        accepted.map(|(stream, _)| stream)
    }
}

/// A port that listens, its URL, and the names it is reached by.
pub(crate) struct Port {
    pub(crate) listener: Listener,
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
        let address = listener.first.local_addr().map_err(|source| StartError::Listen {
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
    /// The ports of services of others, each with the service's name.
    pub(crate) outside: Vec<(&'static str, Port)>,
    pub(crate) http: Option<Port>,
}

impl Ports {
    /// Opens the ports as `config` says. An error names the option that changes the port that can't be opened.
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
) -> Result<Listener, StartError> {
    Listener::bind(host, port)
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

/// The URL of a listener.
fn endpoint(address: SocketAddr) -> String {
    // all addresses of the machine are reached by its loopback address too
    let address = if address.ip().is_unspecified() {
        SocketAddr::from(([127, 0, 0, 1], address.port()))
    } else {
        address
    };
    format!("http://{address}")
}

/// Serves the requests that `admission` lets in, on connections within `bounds`, until `stop`. Then lets open requests end, for `GRACE` at most,
/// and closes the rest.
pub(crate) async fn serve<S, B>(
    listener: Listener,
    bounds: Bounds,
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
            accepted = listener.accept(), if connections.len() < bounds.n_connections => match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    // such as too many open files: wait until some are closed
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
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(bounds.head)
                .serve_connection(TokioIo::new(stream), service);
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

/// Closes the connection after an answer in place of the expected `100 Continue`. That happens when
/// the body is empty, for which hyper sends none, or when the request was refused before its body
/// was read. HTTP allows such an answer on an open connection. But botocore, and with it the AWS
/// command line, takes its status line for that of the next answer, and hangs.
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// How long a test waits before it fails.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A server that answers everything, within `bounds`; its address.
    async fn start(bounds: Bounds) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let admission = Admission::programs(Hosts::new(address, &[]));
        let service = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"served"))))
        });
        tokio::spawn(serve(
            listener.into(),
            bounds,
            admission,
            service,
            CancellationToken::new(),
        ));
        address
    }

    #[tokio::test]
    async fn localhost_is_this_cloud_at_both_addresses() {
        let open = async |port| Port::open(Ipv4Addr::LOCALHOST.into(), port, "S3", "--s3-port", &[]).await;
        let Ok(anothers) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else {
            assert!(open(0).await.unwrap().listener.second.is_none());
            return; // a machine without IPv6
        };
        let taken = anothers.local_addr().unwrap().port();
        let refused = open(taken).await.err().unwrap();
        assert!(
            matches!(refused, StartError::PortInUse { port, .. } if port == taken),
            "{refused}"
        );
        let port = open(0).await.unwrap();
        let number = port.listener.first.local_addr().unwrap().port();
        let service = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"served"))))
        });
        let admission = Admission::programs(port.hosts);
        tokio::spawn(serve(
            port.listener,
            Bounds::OPEN,
            admission,
            service,
            CancellationToken::new(),
        ));
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let address = SocketAddr::new(ip, number);
            let head = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
            let mut answer = String::new();
            let mut stream = connect(address, &head).await;
            tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer))
                .await
                .unwrap()
                .unwrap();
            assert!(answer.ends_with("served"), "{address}: {answer}");
        }
    }

    /// A connection on which `head` was sent.
    async fn connect(address: SocketAddr, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    fn request(address: SocketAddr) -> String {
        format!("GET / HTTP/1.1\r\nhost: {address}\r\n\r\n")
    }

    #[tokio::test]
    async fn half_a_head_holds_no_connection_for_ever() {
        let bounds = Bounds {
            head: Some(Duration::from_millis(20)),
            ..Bounds::OPEN
        };
        let address = start(bounds).await;
        let mut slow = connect(address, "GET / HTTP/1.1\r\nhost: 127").await;
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(PATIENCE, slow.read_to_end(&mut answer)).await;
        assert!(closed.is_ok(), "the server closes it");
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    }

    #[tokio::test]
    async fn connections_above_the_bound_wait_for_others() {
        let bounds = Bounds {
            n_connections: 1,
            ..Bounds::OPEN
        };
        let address = start(bounds).await;
        let mut first = connect(address, &request(address)).await;
        let mut byte = [0];
        let answered = tokio::time::timeout(PATIENCE, first.read_exact(&mut byte)).await;
        answered.unwrap().unwrap();
        let mut second = connect(address, &request(address)).await;
        // a slow machine can't answer it either: what is waited for here never comes
        let early = tokio::time::timeout(Duration::from_millis(100), second.read_exact(&mut byte)).await;
        assert!(early.is_err(), "the first is still open");
        drop(first);
        let answered = tokio::time::timeout(PATIENCE, second.read_exact(&mut byte)).await;
        answered.unwrap().unwrap();
    }
}
