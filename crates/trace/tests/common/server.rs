//! A server of objects over HTTP that notes what is asked of it, and does other than it is asked
//! where a test wants that.
#![allow(dead_code, reason = "each binary uses a part")]

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;

/// What a server does with a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// What is asked for.
    Right,
    /// This status, with a body that no error may show.
    Status(&'static str),
    /// So many bytes of the body; then the connection ends.
    Cut(usize),
    /// All of the object, whatever range is asked for.
    Whole,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// For the headers alone.
    Head,
    /// For a range of bytes.
    Bytes(Range<u64>),
    /// For all bytes.
    Whole,
}

/// What a body of a failure holds.
pub const SECRET: &str = "SECRET-OF-THE-STORE";

/// A server, on a port of its own.
pub struct Server {
    address: String,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    /// Objects by name, each with its entity tag.
    objects: HashMap<String, (Arc<Vec<u8>>, String)>,
    /// What is done with the next requests; then all are answered rightly.
    answers: VecDeque<Answer>,
    asked: Vec<Asked>,
}

impl Server {
    /// Begins to serve nothing.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::<Mutex<Shared>>::default();
        let of_server = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&of_server);
                // A client that goes away ends its connection.
                thread::spawn(move || serve(stream?, &shared));
            }
        });
        Self { address, shared }
    }

    /// Serves `bytes` under this name, with this tag, from now on.
    pub fn put(&self, name: &str, bytes: &[u8], tag: &str) {
        let object = (Arc::new(bytes.to_vec()), tag.to_owned());
        let mut shared = self.shared.lock().unwrap();
        shared.objects.insert(format!("/{name}"), object);
    }

    /// Does this with the next requests.
    pub fn will(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.lock().unwrap().answers.extend(answers);
    }

    /// Returns the URI of an object.
    pub fn uri(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// Returns what was asked since this was called last.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.shared.lock().unwrap().asked)
    }
}

/// Answers the requests of a connection.
fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while let Some(request) = lines.next().transpose()? {
        let mut range = None;
        while let Some(header) = lines.next().transpose()?.filter(|line| !line.is_empty()) {
            let header = header.to_ascii_lowercase();
            range = range.or(header.strip_prefix("range: bytes=").and_then(bytes));
        }
        let mut words = request.split(' ');
        let (method, name) = (words.next().unwrap(), words.next().unwrap());
        let is_head = method == "HEAD";
        let (answer, object) = {
            let mut shared = shared.lock().unwrap();
            shared.asked.push(match &range {
                _ if is_head => Asked::Head,
                Some(range) => Asked::Bytes(range.clone()),
                None => Asked::Whole,
            });
            let answer = shared.answers.pop_front().unwrap_or(Answer::Right);
            (answer, shared.objects.get(name).cloned())
        };
        let Some((object, tag)) = object else {
            refuse(&mut stream, "404 Not Found", is_head)?;
            continue;
        };
        let whole = 0..object.len() as u64;
        let (status, range) = match (&answer, range) {
            (Answer::Status(status), _) => {
                refuse(&mut stream, status, is_head)?;
                continue;
            }
            (Answer::Whole, _) | (_, None) => ("200 OK", whole.clone()),
            (_, Some(range)) => ("206 Partial Content", range.start..range.end.min(whole.end)),
        };
        if range.start >= range.end && !object.is_empty() {
            refuse(&mut stream, "416 Range Not Satisfiable", is_head)?;
            continue;
        }
        let body = &object[range.start as usize..range.end as usize];
        write!(
            stream,
            "HTTP/1.1 {status}\r\nETag: {tag}\r\nContent-Length: {}\r\nContent-Range: bytes \
             {}-{}/{}\r\n\r\n",
            body.len(),
            range.start,
            range.end.saturating_sub(1),
            whole.end
        )?;
        match answer {
            Answer::Cut(bytes) => {
                stream.write_all(&body[..bytes.min(body.len())])?;
                return stream.shutdown(std::net::Shutdown::Both);
            }
            _ if is_head => {}
            _ => stream.write_all(body)?,
        }
    }
    Ok(())
}

/// Reads a range as `0-99`.
fn bytes(text: &str) -> Option<Range<u64>> {
    let (first, last) = text.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().ok()? + 1)
}

fn refuse(stream: &mut TcpStream, status: &str, is_head: bool) -> io::Result<()> {
    let length = SECRET.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n"
    )?;
    match is_head {
        true => Ok(()),
        false => stream.write_all(SECRET.as_bytes()),
    }
}
