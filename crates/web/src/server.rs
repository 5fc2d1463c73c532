//! The metrics and the page over HTTP. There are only answers to GET, and no address changes
//! anything.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST};
use axum::http::header::{HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{Stream, unfold};
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::metrics;
use crate::source::{Known, Source};

const PAGE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Nothing is loaded from elsewhere, and no other page shows this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers on an open stream come at least so often, so that both sides notice its end.
const ALIVE: Duration = Duration::from_secs(15);

/// Returns what answers requests.
pub fn router(source: Source) -> Router {
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(CONTENT_TYPE, kind)], text) })
    };
    Router::new()
        .route("/", file("text/html; charset=utf-8", PAGE))
        .route("/style.css", file("text/css; charset=utf-8", STYLE))
        .route("/page.js", file("text/javascript; charset=utf-8", SCRIPT))
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .route("/history", get(history))
        .route("/curves", get(curves))
        .route("/heat/{target}", get(heat))
        .route("/changes", get(changes))
        .layer(from_fn(only_by_number))
        .layer(map_response(with_headers))
        .with_state(source)
}

async fn metrics(State(source): State<Source>) -> impl IntoResponse {
    (
        [(CONTENT_TYPE, metrics::TYPE)],
        metrics::text(&source.known()),
    )
}

async fn status(State(source): State<Source>) -> impl IntoResponse {
    json(&*source.known())
}

async fn history(State(source): State<Source>) -> impl IntoResponse {
    json(source.history().points())
}

async fn curves(State(source): State<Source>) -> impl IntoResponse {
    json(&source.history().curves())
}

/// Asks the daemon, which is not asked otherwise about this.
async fn heat(State(source): State<Source>, Path(target): Path<String>) -> Response {
    let asked = spawn_blocking(move || source.heat(&target)).await;
    match asked {
        Ok(Ok(heat)) => json(&heat).into_response(),
        Ok(Err(why)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn json(value: &impl Serialize) -> ([(HeaderName, &'static str); 1], String) {
    let text = serde_json::to_string(value).expect("plain data is JSON");
    ([(CONTENT_TYPE, "application/json")], text)
}

/// Sends what is known, now and after each change.
async fn changes(
    State(source): State<Source>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut changes = source.changes();
    changes.mark_changed();
    let stream = unfold(changes, |mut changes| async move {
        changes.changed().await.ok()?;
        let known: Arc<Known> = Arc::clone(&changes.borrow_and_update());
        let text = serde_json::to_string(&*known).expect("plain data is JSON");
        Some((Ok(Event::default().data(text)), changes))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE))
}

/// Refuses requests under a name that somebody else gave this machine: a page of theirs could read
/// this one (DNS rebinding).
async fn only_by_number(request: Request, next: Next) -> Response {
    match is_local(request.headers()) {
        true => next.run(request).await,
        false => {
            let why = "ask under a number, as 127.0.0.1, or as localhost\n";
            (StatusCode::MISDIRECTED_REQUEST, why).into_response()
        }
    }
}

fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || number.parse::<IpAddr>().is_ok()
}

async fn with_headers(mut response: Response) -> Response {
    let headers: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_others_gave_is_refused() {
        let by = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            is_local(&headers)
        };
        for host in [
            "127.0.0.1:9847",
            "localhost",
            "localhost:1",
            "[::1]:9847",
            "10.0.0.7",
        ] {
            assert!(by(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9847",
            "localhost.evil.example",
            "",
            ":9847",
            "127.0.0.1.evil",
        ] {
            assert!(!by(host), "{host}");
        }
        assert!(!is_local(&HeaderMap::new()));
    }
}
