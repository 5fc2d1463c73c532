//! Text: a prefix and its port a line, or an update a line.
//!
//! ```text
//! # a table                      # updates, with times in seconds or without
//! 10.0.0.0/8      eth0           0.5 + 10.1.0.0/16 eth1
//! 2001:db8::/32   192.0.2.1      1.25 - 10.0.0.0/8
//! ```
//!
//! Lines that begin with `#` or `;` are comments. A port is any word. Files of pyasn (`.dat`) have
//! the same lines, with the AS that announces the prefix as a number:
//! <https://github.com/hadiasghari/pyasn>.

use terrace_base::{Error, Nanos, Result};

use super::file::Input;
use super::statement::{Said, Statement};
use super::{Format, NextHop};

/// Hands each line to `take`.
pub(super) fn read(
    mut input: Input,
    format: Format,
    take: &mut dyn FnMut(Statement) -> Result<()>,
) -> Result<()> {
    let path = input.path.clone();
    let mut number = 0u64;
    let mut last_time: Option<Option<Nanos>> = None;
    while let Some(line) = input.line()? {
        number += 1;
        let wrong = |what: String| {
            Error::failure(format!(
                "`{}` is wrong in line {number}: {what}",
                path.display()
            ))
        };
        let line = str::from_utf8(line).map_err(|_| wrong("it is not UTF-8".into()))?;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let statement = statement(&words, format).map_err(wrong)?;
        if let Some(last) = last_time.filter(|_| !statement.of_table) {
            check_order(last, statement.at).map_err(|what| wrong(what.into()))?;
        }
        if !statement.of_table {
            last_time = Some(statement.at);
        }
        take(statement)?;
    }
    Ok(())
}

/// Tells what is wrong with the time of an update that follows one at `last`.
fn check_order(last: Option<Nanos>, at: Option<Nanos>) -> std::result::Result<(), &'static str> {
    match (last, at) {
        (Some(last), Some(at)) if at < last => Err("its time is before that of the update before"),
        (Some(_), None) => Err("it has no time, unlike the updates before"),
        (None, Some(_)) => Err("it has a time, unlike the updates before"),
        _ => Ok(()),
    }
}

/// Reads the words of a line.
fn statement(words: &[&str], format: Format) -> std::result::Result<Statement, String> {
    let announced = |prefix: &str, port| {
        let prefix = prefix.parse().map_err(|e: Error| e.to_string())?;
        Ok::<_, String>(Said::Announced(prefix, next_hop(port, format)?))
    };
    let withdrawn = |prefix: &str| {
        let prefix = prefix.parse().map_err(|e: Error| e.to_string())?;
        Ok::<_, String>(Said::Withdrawn(prefix))
    };
    let (at, of_table, said) = match *words {
        ["+", prefix, port] => (None, false, announced(prefix, port)?),
        ["-", prefix] => (None, false, withdrawn(prefix)?),
        [time, "+", prefix, port] => (Some(seconds(time)?), false, announced(prefix, port)?),
        [time, "-", prefix] => (Some(seconds(time)?), false, withdrawn(prefix)?),
        [prefix, port] if prefix != "+" => (None, true, announced(prefix, port)?),
        _ => {
            return Err("it is neither `PREFIX PORT`, `+ PREFIX PORT` nor `- PREFIX`".into());
        }
    };
    Ok(Statement {
        peer: None,
        at,
        of_table,
        said,
    })
}

fn next_hop(word: &str, format: Format) -> std::result::Result<NextHop, String> {
    if format == Format::IpAsn {
        let system = word.parse().map(NextHop::As);
        return system.map_err(|_| format!("`{word}` is no number of an AS"));
    }
    let address = word.parse().map(NextHop::Address);
    Ok(address.unwrap_or_else(|_| NextHop::Name(word.into())))
}

/// Reads seconds with up to nine decimals.
fn seconds(word: &str) -> std::result::Result<Nanos, String> {
    let is_number = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let time = is_number
        .then(|| Nanos::parse(&format!("{word}s")).ok())
        .flatten();
    time.ok_or_else(|| format!("`{word}` is no time in seconds"))
}
