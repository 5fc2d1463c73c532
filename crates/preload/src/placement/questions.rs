//! Questions to the command.

use std::ffi::{c_int, c_void};
use std::mem::{offset_of, size_of, size_of_val, zeroed};
use std::sync::OnceLock;

use terrace_preload_protocol::placement::{FRAMES, MORE, PLACED};

/// The address of the socket that answers.
static SOCKET: OnceLock<libc::sockaddr_un> = OnceLock::new();

/// Takes the path of the socket, and returns whether it can be one.
pub fn use_socket(path: &[u8]) -> bool {
    // SAFETY: an all-zero address is a valid value of it.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if path.is_empty() || path.len() >= address.sun_path.len() {
        return false;
    }
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = from.cast_signed();
    }
    SOCKET.set(address).is_ok()
}

/// Asks whether an object that these calls allocate belongs in fast memory; none where there is no
/// answer.
pub fn is_placed(addresses: &[u64]) -> Option<bool> {
    let mut question = [0; FRAMES + 2];
    question[..2].copy_from_slice(&[PLACED, addresses.len() as u64]);
    question[2..][..addresses.len()].copy_from_slice(addresses);
    ask(&question[..addresses.len() + 2]).map(|answer| answer == 1)
}

/// Asks for this many bytes of fast memory for a program, and returns how many it may have more; 0
/// where there are none, or no answer.
pub fn more(program: u64, bytes: u64) -> u64 {
    ask(&[MORE, program, bytes]).unwrap_or(0)
}

/// Sends a question, and returns the answer.
fn ask(question: &[u64]) -> Option<u64> {
    // SAFETY: the thread's own number.
    unsafe {
        let before = *libc::__errno_location();
        let answer = asked(question);
        *libc::__errno_location() = before;
        answer
    }
}

fn asked(question: &[u64]) -> Option<u64> {
    // SAFETY: the call takes integers.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return None;
    }
    let answer = exchange(socket, question);
    // By the call itself, as a library may take the place of the C library's function.
    // SAFETY: a descriptor of ours, closed once.
    unsafe { libc::syscall(libc::SYS_close, socket) };
    answer
}

fn exchange(socket: c_int, question: &[u64]) -> Option<u64> {
    let address = SOCKET.get()?;
    let length = offset_of!(libc::sockaddr_un, sun_path) + address.sun_path.len();
    let bytes = size_of_val(question);
    let mut answer = 0_u64;
    // SAFETY: an address of this length; a question of these bytes; room for an answer.
    unsafe {
        let connected = libc::connect(
            socket,
            (&raw const *address).cast(),
            length as libc::socklen_t,
        );
        let question = question.as_ptr().cast::<c_void>();
        let place = (&raw mut answer).cast::<c_void>();
        let is_sent = connected == 0
            && libc::send(socket, question, bytes, libc::MSG_NOSIGNAL) == bytes as isize;
        let is_answered =
            is_sent && libc::recv(socket, place, size_of::<u64>(), libc::MSG_WAITALL) == 8;
        is_answered.then_some(answer)
    }
}
