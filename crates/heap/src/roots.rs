//! Roots: named words from which everything else is reached.

use std::mem;

use bytemuck::Pod;

use crate::error::Result;
use crate::heap::Heap;
use crate::layout::root::Root;
use crate::lock::lock;
use crate::medium::Medium;
use crate::ptr::{Place, Ptr};

/// A root of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RootInfo {
    /// Name of the root.
    pub name: String,
    /// Place of its word.
    #[cfg_attr(feature = "serde", serde(rename = "offset", serialize_with = "offset"))]
    #[cfg_attr(feature = "schemars", schemars(with = "u64"))]
    pub place: Place<u8>,
    /// Pointer to its object; null if there is none yet.
    #[cfg_attr(feature = "serde", serde(serialize_with = "offset"))]
    #[cfg_attr(feature = "schemars", schemars(with = "u64"))]
    pub pointer: Ptr<u8>,
    /// Bytes of the object.
    #[cfg_attr(feature = "serde", serde(rename = "bytes"))]
    pub size: u32,
    /// Kind that the program gave it; containers have 1 to 4.
    pub kind: u16,
}

/// Serializes a pointer as its offset; 0 if it is null.
#[cfg(feature = "serde")]
fn offset<T, S: serde::Serializer>(
    pointer: &Ptr<T>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_u64(pointer.offset())
}

impl<M: Medium> Heap<M> {
    /// Returns the word of a root; makes it, as null, if there is none of this name. `kind` is a
    /// number of the program's choice that must be the same at each call.
    ///
    /// # Errors
    ///
    /// The root has another type or kind, its name is empty or longer than 104 bytes, the pool is
    /// full, or a fence failed.
    pub fn root<T: Pod>(&self, name: &str, kind: u16) -> Result<Place<T>> {
        self.expect_open()?;
        let root = Root {
            name: name.to_owned(),
            size: u32::try_from(mem::size_of::<T>()).unwrap_or(u32::MAX),
            align: mem::align_of::<T>() as u16,
            kind,
        };
        let core = self.core();
        if core.is_read_only() {
            return lock(self.roots_of()).find(&core.space, &root)?.map_or_else(
                || core.expect_writable().map(|()| Ptr::NULL),
                |at| Ok(Ptr::at(at)),
            );
        }
        // Held until the root is durable, so that the heap is not closed meanwhile.
        let _held = core.hold_open()?;
        let at = lock(self.roots_of()).place(&core.space, &root)?;
        Ok(Ptr::at(at))
    }

    /// Removes a root, durably, so that its name is free again; returns whether there was one. One
    /// line and one fence; two more fences if one of the last operations changed its pointer.
    ///
    /// The program must not use the word of the root any more: publishing there would damage the
    /// pool.
    ///
    /// # Errors
    ///
    /// The root points to an object, which has to be freed before; this thread is within a
    /// transaction, or a fence failed.
    pub fn remove_root(&self, name: &str) -> Result<bool> {
        self.expect_alone()?;
        let mut held = self.core().hold_open()?;
        lock(self.roots_of()).remove(&self.core().space, &mut held, name)
    }

    /// Returns all roots, by name.
    ///
    /// # Errors
    ///
    /// The heap was closed, or this is a child of the process that opened the heap.
    pub fn roots(&self) -> Result<Vec<RootInfo>> {
        self.expect_open()?;
        let space = &self.core().space;
        let roots = lock(self.roots_of()).all(space);
        let info = |(at, root): (u64, Root)| RootInfo {
            name: root.name,
            place: Ptr::at(at),
            pointer: Ptr::at(space.pool.medium.load_word(at)),
            size: root.size,
            kind: root.kind,
        };
        Ok(roots.into_iter().map(info).collect())
    }
}
