//! `terraced-web`: serves metrics and a page of `terraced`.

mod socket;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use terrace_base::error::Kind;
use terrace_base::{Context, Error, Result};
use terrace_daemon::protocol::SOCKET;
use terrace_web::server::router;
use terrace_web::source::Source;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Where it listens, if nobody says otherwise: at a port beside those of Prometheus' own exporters.
const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9847);

/// Serve metrics and a page of terraced
///
/// Asks terraced how its targets fare, and serves that at /metrics for Prometheus and at / for
/// people. It has no privileges, and nothing can be changed over it. It answers requests under a
/// number or as localhost; for others, put a server with TLS and passwords in front of it.
#[derive(Parser)]
#[command(name = "terraced-web", version, max_term_width = 80)]
#[command(after_long_help = "\
Examples:
  terraced-web
  terraced-web --listen 127.0.0.1:8080

Exit code: 0 when a signal has ended it; 2 for wrong usage; 1 where it failed.")]
struct Web {
    /// Where it listens; 127.0.0.1:9847 if this and a socket of systemd are missing
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// The socket of terraced
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
}

fn main() -> ExitCode {
    match work(&Web::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "terraced-web: {error}");
            ExitCode::from(match error.kind {
                Kind::Usage => 2,
                Kind::Failure => 1,
            })
        }
    }
}

fn work(web: &Web) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.or_fail(|| "cannot start".into())?;
    runtime.block_on(serve(web))
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.or_fail(|| format!("cannot listen at {address}"))
}

async fn serve(web: &Web) -> Result<()> {
    let listener = match (socket::passed()?, web.listen) {
        (None, listen) => bind(listen.unwrap_or(USUAL)).await?,
        (Some(passed), None) => {
            let usable = passed.set_nonblocking(true);
            let listener = usable.and_then(|()| TcpListener::from_std(passed));
            listener.or_fail(|| "cannot use the socket of systemd".into())?
        }
        (Some(_), Some(_)) => {
            return Err(Error::usage(
                "systemd has opened a socket already; name the address in terraced-web.socket, and leave \
                 out --listen",
            ));
        }
    };
    let address = listener.local_addr().or_fail(|| "cannot listen".into())?;
    let source = Source::open(&web.socket)?;
    let signals = || "cannot receive signals".to_owned();
    let mut ends = signal(SignalKind::terminate()).or_fail(signals)?;
    let mut interrupts = signal(SignalKind::interrupt()).or_fail(signals)?;
    let _ = writeln!(std::io::stderr(), "terraced-web: http://{address}/");
    // Nobody waits for it where it was not started by systemd.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    // Streams of the page never end by themselves, so it does not wait for them.
    tokio::select! {
        served = axum::serve(listener, router(source)) => served.or_fail(|| "cannot serve".into()),
        _ = ends.recv() => Ok(()),
        _ = interrupts.recv() => Ok(()),
    }
}
