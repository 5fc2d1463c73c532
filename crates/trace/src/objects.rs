//! What the addresses of a trace are: places, or names of objects.

/// What the addresses of a trace are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objects {
    /// Places in memory.
    #[default]
    None,
    /// Names of objects, which may be hashes.
    Named,
    /// Places that objects were given.
    Placed,
    /// Places on a disk.
    Disk,
}

/// How many pages an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As many as its size needs.
    Sized,
    /// One, of whatever size it is: it is a unit.
    Unit,
}

/// The key of a trace's metadata that says that its accesses are requests for objects, or to a
/// disk.
pub(crate) const KEY: &str = "objects";
/// The value of a trace of places on a disk.
pub(crate) const DISK: &str = "disk";

/// Returns the metadata of a trace of places on a disk.
pub(crate) fn of_disk() -> (String, String) {
    (KEY.into(), DISK.into())
}

impl Extent {
    /// Returns the name in the metadata of a trace.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sized => "sized",
            Self::Unit => "units",
        }
    }
}
