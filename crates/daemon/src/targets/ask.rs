//! Programs that are asked: what they print, if they succeed in time.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any that works takes.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that is read of an answer.
const LONGEST: u64 = 4 << 20;

/// Returns what a program prints; `None` if it is not there, fails, or takes too long.
pub(super) fn ask(program: &str, options: &[&str]) -> Option<String> {
    within(program, options, PATIENCE)
}

fn within(program: &str, options: &[&str], patience: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.args(options);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let output = child.stdout.take()?;
    let reader = thread::spawn(move || {
        let mut text = String::new();
        let read = output.take(LONGEST).read_to_string(&mut text);
        read.is_ok().then_some(text)
    });
    match succeeds(&mut child, Instant::now() + patience) {
        true => reader.join().ok()?,
        // What it has started may hold its output open: the thread ends with that.
        false => None,
    }
}

fn succeeds(child: &mut Child, until: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_prints_in_time() {
        assert_eq!(ask("echo", &["a"]), Some("a\n".into()));
        assert_eq!(ask("false", &[]), None);
        assert_eq!(ask("/no/such/program", &[]), None);
        let begin = Instant::now();
        let short = Duration::from_millis(50);
        assert_eq!(within("sleep", &["60"], short), None);
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
}
