//! Replacement policies written in Python.
//!
//! A policy is told of touches in batches, all of them before it has to decide: the interpreter's
//! lock is taken for a miss that evicts, and not for a hit.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyMemoryView, PySlice};
use terrace_policy::registry::{self, Evidence};
use terrace_policy::replacement::{Answer, Entry, Make, PageId, Replacement, Touch};

use crate::error::UsageError;

/// Touches of which a policy is told at once, at most.
const BATCH: usize = 1 << 16;

/// What the constructor of a policy has raised last.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

/// Takes what the constructor of a policy has raised.
pub fn raised() -> Option<PyErr> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A policy in Python, and the pages that are in DRAM.
struct Python {
    /// `touches(pages, writes)`, of its object.
    touches: Py<PyAny>,
    evict: Py<PyAny>,
    fetch: Py<PyAny>,
    remove: Py<PyAny>,
    name: &'static str,
    capacity: usize,
    resident: Vec<bool>,
    number: usize,
    /// Touches that it was not told of yet: numbers of 4 bytes, and a byte each.
    pages: Vec<u8>,
    writes: Vec<u8>,
    room: Room,
}

impl Python {
    fn new(object: &Bound<'_, PyAny>, name: &'static str, capacity: usize) -> PyResult<Self> {
        let method = |name| object.getattr(name).map(Bound::unbind);
        Ok(Self {
            touches: method("touches")?,
            evict: method("evict")?,
            fetch: method("fetch")?,
            remove: method("remove")?,
            name,
            capacity,
            resident: Vec::new(),
            number: 0,
            pages: Vec::new(),
            writes: Vec::new(),
            room: Room::new(object.py())?,
        })
    }

    fn note(&mut self, touch: Touch) {
        if self.writes.len() == BATCH {
            self.told(|_, _| Ok(()));
        }
        self.pages.extend(touch.page.0.to_ne_bytes());
        self.writes.push(touch.write.into());
    }

    /// Tells the policy of all touches, and does something with it then. An exception ends the
    /// simulation.
    fn told<T>(&mut self, then: impl FnOnce(pyo3::Python<'_>, &Self) -> PyResult<T>) -> T {
        let done = pyo3::Python::attach(|py| {
            if !self.pages.is_empty() {
                let views = self.room.views(py, &self.pages, &self.writes)?;
                self.pages.clear();
                self.writes.clear();
                self.touches.call1(py, views)?;
            }
            then(py, self)
        });
        done.unwrap_or_else(|raised: PyErr| std::panic::resume_unwind(Box::new(raised)))
    }

    /// Brings a page in, and returns the page that it replaces.
    fn bring_in(&mut self, page: PageId) -> Option<PageId> {
        let evicted = (self.number == self.capacity).then(|| self.evicted());
        if self.resident.len() <= page.index() {
            self.resident.resize(page.index() + 1, false);
        }
        self.resident[page.index()] = true;
        self.number += 1;
        evicted
    }

    fn evicted(&mut self) -> PageId {
        let page = self.told(|py, policy| {
            let page = policy.evict.call0(py)?;
            match page.extract::<u32>(py) {
                Ok(page) if policy.contains(PageId(page)) => Ok(PageId(page)),
                _ => Err(UsageError::new_err(format!(
                    "the policy `{}` evicts page {}, which is not in DRAM",
                    policy.name,
                    page.bind(py).repr()?
                ))),
            }
        });
        self.resident[page.index()] = false;
        self.number -= 1;
        page
    }
}

/// Room for the touches of several batches, one behind the other, of which Python gets parts as
/// views. A part costs half of what a view of bytes of its own would, and most batches are small.
struct Room {
    pages: Part,
    writes: Part,
    used: usize,
}

impl Room {
    fn new(py: pyo3::Python<'_>) -> PyResult<Self> {
        Ok(Self {
            pages: Part::new(py, 4, "I")?,
            writes: Part::new(py, 1, "?")?,
            used: 0,
        })
    }

    /// Returns views of a copy of touches, at most [`BATCH`] of them.
    fn views<'py>(
        &mut self,
        py: pyo3::Python<'py>,
        pages: &[u8],
        writes: &[u8],
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if self.used + writes.len() > BATCH {
            // A policy may have kept views of the old one.
            *self = Self::new(py)?;
        }
        let (begin, end) = (self.used, self.used + writes.len());
        self.used = end;
        let range = PySlice::new(py, begin as isize, end as isize, 1);
        let pages = self.pages.view(py, pages, 4 * begin, &range)?;
        Ok((pages, self.writes.view(py, writes, begin, &range)?))
    }
}

/// Bytes of Python, and a view of all of them as values.
struct Part {
    bytes: Py<PyByteArray>,
    values: Py<PyAny>,
}

impl Part {
    /// Makes room for values of so many bytes, of a format of the module `struct`.
    fn new(py: pyo3::Python<'_>, bytes: usize, format: &str) -> PyResult<Self> {
        let bytes = PyByteArray::new_with(py, bytes * BATCH, |_| Ok(()))?;
        let values = PyMemoryView::from(&bytes)?.call_method1("cast", (format,))?;
        Ok(Self {
            values: values.call_method0("toreadonly")?.unbind(),
            bytes: bytes.unbind(),
        })
    }

    /// Returns the values of a range, which begins at this byte, after bytes were copied there.
    fn view<'py>(
        &self,
        py: pyo3::Python<'py>,
        bytes: &[u8],
        begin: usize,
        range: &Bound<'py, PySlice>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let room = self.bytes.bind(py);
        // SAFETY: the interpreter's lock is held, and no code of Python runs before the copy is
        // made; its views of the rest are read-only, and keep it from being resized.
        let room = unsafe { room.as_bytes_mut() };
        room[begin..begin + bytes.len()].copy_from_slice(bytes);
        self.values.bind(py).get_item(range)
    }
}

impl Replacement for Python {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.note(touch);
            return Answer::Hit;
        }
        let evicted = self.bring_in(touch.page);
        self.note(touch);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        let evicted = self.bring_in(page);
        self.told(|py, policy| policy.fetch.call1(py, (page.0,)).map(drop));
        evicted
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.told(|py, policy| policy.remove.call1(py, (page.0,)).map(drop));
            self.resident[page.index()] = false;
            self.number -= 1;
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.resident.get(page.index()).copied().unwrap_or(false)
    }

    fn resident(&self) -> usize {
        self.number
    }
}

/// Registers a policy: `make(capacity, seed)` returns the object of one simulated machine. The
/// version tells its code from other code of the same name.
#[pyfunction]
pub fn register(name: String, summary: String, version: String, make: Py<PyAny>) -> PyResult<()> {
    let name: &'static str = Box::leak(name.into_boxed_str());
    let made = move |capacity: usize, _: &mut _, seed: u64| {
        let made = pyo3::Python::attach(|py| {
            let object = make.call1(py, (capacity, seed))?;
            Python::new(object.bind(py), name, capacity)
        });
        match made {
            Ok(policy) => Ok(Box::new(policy) as Box<dyn Replacement>),
            Err(raised) => {
                let text = raised.to_string();
                *RAISED.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                Err(text)
            }
        }
    };
    let entry = Entry {
        name,
        summary: Box::leak(summary.into_boxed_str()),
        paper: "a class of Python",
        when: "In the process that has registered it.",
        evidence: Evidence::NONE,
        make: Make::Online(Box::leak(Box::new(made))),
    };
    let registered = registry::register(entry, Box::leak(version.into_boxed_str()));
    registered.map_err(|why| raised().unwrap_or_else(|| UsageError::new_err(why)))?;
    Ok(())
}

/// Gives a registered policy the version of its code as it is now.
#[pyfunction]
pub fn renew(name: &str, version: String) {
    registry::renew::<Make>(name, Box::leak(version.into_boxed_str()));
}

/// Returns the names of all replacement policies.
#[pyfunction]
pub fn policies() -> Vec<&'static str> {
    Entry::all().into_iter().map(|entry| entry.name).collect()
}
