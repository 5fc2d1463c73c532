//! The port word of a row: 512 bits beside the ternary word, read out by the match line (4.3.4.2).

use crate::route::Port;

/// Bits of a port word.
pub const BITS: usize = 512;

/// Row number and next hop. The chapter hard-wires the eight bits of the row's number; here they
/// are the first 32, since blocks can have more rows, and the next 32 hold the port. The others
/// have no use yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortWord([u64; BITS / 64]);

impl PortWord {
    /// Makes the word of a row.
    pub fn new(row: u32, port: Port) -> Self {
        let mut bits = [0; BITS / 64];
        bits[0] = u64::from(row) | u64::from(port.0) << 32;
        Self(bits)
    }

    /// Returns the number of the row.
    pub fn row(self) -> u32 {
        self.0[0] as u32
    }

    /// Returns the next hop.
    pub fn port(self) -> Port {
        Port((self.0[0] >> 32) as u32)
    }
}
