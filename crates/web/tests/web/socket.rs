//! It takes a socket of systemd.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use super::*;

/// Runs it as systemd does with sockets: the one that it inherits is its third descriptor, and
/// others are copies of that.
fn activated(inherited: OwnedFd, sockets: u32, arguments: &[&str]) -> Child {
    let script = format!(
        "export LISTEN_PID=$$ LISTEN_FDS={sockets}; exec \"$0\" \"$@\" 3<&0 4<&0 </dev/null"
    );
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_terraced-web")])
        .args(["--socket", "/nonexistent"])
        .args(arguments)
        .stdin(inherited)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn it_takes_the_socket_of_systemd() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let child = activated(listener.into(), 1, &[]);
    let web = Web {
        child,
        address,
        directory: tempfile::tempdir().unwrap(),
    };
    let answer = web.get("/metrics");
    assert!(answer.contains("terrace_up 0.0"), "{answer}");
}

#[test]
fn a_socket_of_systemd_that_is_none_is_refused() {
    let tcp = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let directory = tempfile::tempdir().unwrap();
    let unix = UnixListener::bind(directory.path().join("a")).unwrap();
    for (socket, number, arguments, says) in [
        (tcp(), 2, &[][..], "systemd has opened 2 sockets"),
        (unix.into(), 1, &[], "the socket of systemd is not of TCP"),
        (tcp(), 1, &["--listen", "127.0.0.1:0"], "leave out --listen"),
    ] {
        let mut child = activated(socket, number, arguments);
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut said).unwrap();
        if !said.contains(says) {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(said.contains(says), "{said}");
        assert_eq!(status.code(), Some(2), "{said}");
    }
}
