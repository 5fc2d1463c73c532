//! `terraced-web`: serves metrics and a page of `terraced`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use terrace_base::error::Kind;
use terrace_base::{Context, Result};
use terrace_daemon::protocol::SOCKET;
use terrace_web::server::router;
use terrace_web::source::Source;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// The port beside those of Prometheus' own exporters.
const PORT: u16 = 9847;

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
    /// Where it listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))]
    listen: SocketAddr,

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

async fn serve(web: &Web) -> Result<()> {
    let listener = TcpListener::bind(web.listen).await;
    let listener = listener.or_fail(|| format!("cannot listen at {}", web.listen))?;
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
