//! Questions to the command.

use std::ffi::{c_int, c_void};
use std::mem::{offset_of, size_of, zeroed};
use std::sync::OnceLock;

use crate::FRAMES;

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

/// Asks whether an object that these calls allocate belongs in fast memory; none where there is no answer.
pub fn ask(addresses: &[u64]) -> Option<bool> {
    // SAFETY: the thread's own number.
    unsafe {
        let before = *libc::__errno_location();
        let answer = asked(addresses);
        *libc::__errno_location() = before;
        answer
    }
}

fn asked(addresses: &[u64]) -> Option<bool> {
    let mut question = [0; FRAMES + 1];
    question[0] = addresses.len() as u64;
    question[1..][..addresses.len()].copy_from_slice(addresses);
    let bytes = (addresses.len() + 1) * size_of::<u64>();
    // SAFETY: the call takes integers.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return None;
    }
    let answer = exchange(socket, &question, bytes);
    // By the call itself, as a library may take the place of the C library's function.
    // SAFETY: a descriptor of ours, closed once.
    unsafe { libc::syscall(libc::SYS_close, socket) };
    answer
}

/// Sends the first bytes of a question, and receives the answer.
fn exchange(socket: c_int, question: &[u64; FRAMES + 1], bytes: usize) -> Option<bool> {
    let address = SOCKET.get()?;
    let length = offset_of!(libc::sockaddr_un, sun_path) + address.sun_path.len();
    let mut answer = 0_u8;
    // SAFETY: an address of this length; a question of at least these bytes; room for a byte.
    unsafe {
        let connected = libc::connect(
            socket,
            (&raw const *address).cast(),
            length as libc::socklen_t,
        );
        let question = question.as_ptr().cast::<c_void>();
        let is_sent = connected == 0
            && libc::send(socket, question, bytes, libc::MSG_NOSIGNAL) == bytes as isize;
        let is_answered =
            is_sent && libc::recv(socket, (&raw mut answer).cast(), 1, libc::MSG_WAITALL) == 1;
        is_answered.then_some(answer == 1)
    }
}
