//! Requests to a device.

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// Priority class of a request, by what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The program waits for it.
    Demand,
    /// Nothing waits yet: the page is predicted.
    Prefetch,
    /// Nothing waits: a page is written back.
    Background,
}

/// A request for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Number that the driver chooses, unique among unfinished requests.
    pub id: u64,
    /// Direction.
    pub kind: Kind,
    /// Priority class.
    pub class: Class,
    /// Position on the device, in any unit; only the elevator uses it.
    pub place: u64,
    /// Bytes to transfer.
    pub bytes: u64,
}
