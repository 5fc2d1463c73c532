//! The files of a disk: one, and more after forks.
//!
//! A place lies in one of the layers, each a file, at the same byte of any. A layer in which
//! processes that have forked from each other both have places is shared and not written: a place
//! that is written moves to a layer of the process's own. Two processes know of each other by a
//! pair of sockets, which every process that is forked later has as well: once the other end is
//! closed, however that process and its children ended, the layer is this process's alone again.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terrace_policy::page::PAGE_BYTES;

use super::nameless::open_in;
use super::{Buffer, Side};
use crate::descriptor::Kept;

/// Layers that are left as they are: to bring them together takes a read and a write for each
/// place.
const FEW: usize = 16;

/// Bytes by which a file grows.
pub(super) const STEP: u64 = 64 << 20;

/// The files.
pub(super) struct Layers {
    /// Where files are made; `None` if there is one, which cannot be shared.
    directory: Option<PathBuf>,
    /// At most as many as a byte counts.
    layers: Vec<Layer>,
    /// By place: its layer.
    of: Vec<u8>,
    /// A fork that is under way.
    pair: Option<(UnixStream, UnixStream)>,
}

struct Layer {
    file: Kept<File>,
    /// The length of a file, which grows; `None` for a device.
    length: Option<u64>,
    /// Sockets to the processes that have it too.
    sharers: Vec<Arc<Kept<OwnedFd>>>,
}

impl Layers {
    /// Begins with one file, and makes others in a directory, if there is one.
    pub fn new(file: File, directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            layers: vec![Layer::new(file)],
            of: Vec::new(),
            pair: None,
        }
    }

    /// Returns the layer of a place.
    pub fn of(&self, place: u32) -> u8 {
        self.of.get(place as usize).copied().unwrap_or(0)
    }

    /// Returns the file of a layer.
    pub fn file(&self, layer: u8) -> &File {
        &self.layers[layer as usize].file
    }

    /// Chooses the layer in which a place is written from now on, and returns whether it is another
    /// one than before, so that all of the place has to be written.
    ///
    /// # Errors
    /// Returns the system's if a file is needed and cannot be made.
    pub fn choose(&mut self, place: u32) -> io::Result<bool> {
        let before = self.of(place);
        let own = self.layers.iter_mut().position(|layer| !layer.is_shared());
        let layer = match own {
            Some(own) => own as u8,
            None => self.add()?,
        };
        if layer == before {
            return Ok(false);
        }
        if self.of.len() <= place as usize {
            self.of.resize(place as usize + 1, 0);
        }
        self.of[place as usize] = layer;
        Ok(true)
    }

    /// Makes the file of a layer long enough for a byte, without taking space for it.
    pub fn lengthen(&mut self, layer: u8, end: u64) {
        let layer = &mut self.layers[layer as usize];
        if let Some(length) = &mut layer.length
            && *length < end
            // If this fails, so does the write, or a later read is told the end of the file.
            && layer.file.set_len(end.next_multiple_of(STEP)).is_ok()
        {
            *length = end.next_multiple_of(STEP);
        }
    }

    /// Gets ready for a fork.
    ///
    /// # Errors
    /// Returns the system's, and that there are no more files to be made.
    pub fn share(&mut self) -> io::Result<()> {
        if self.directory.is_none() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if self.layers.len() > FEW {
            // On a full disk they stay apart.
            let _ = self.merge();
        }
        if self.layers.len() > usize::from(u8::MAX) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.pair = Some(UnixStream::pair()?);
        Ok(())
    }

    /// Goes on after a fork: all layers are shared with the other process.
    pub fn forked(&mut self, side: Side) {
        let Some((parents, childs)) = self.pair.take() else {
            return;
        };
        let socket = match side {
            Side::Parent => parents,
            Side::Child => childs,
        };
        let socket = Arc::new(Kept::new(OwnedFd::from(socket)));
        for layer in &mut self.layers {
            layer.sharers.push(Arc::clone(&socket));
        }
    }

    fn add(&mut self) -> io::Result<u8> {
        let (Some(directory), Ok(number)) = (&self.directory, u8::try_from(self.layers.len()))
        else {
            return Err(io::ErrorKind::StorageFull.into());
        };
        self.layers.push(Layer::new(open_in(directory)?));
        Ok(number)
    }

    /// Brings the layers that are this process's alone together in the first of them, so that a
    /// process which forks again and again does not keep a file for each child.
    fn merge(&mut self) -> io::Result<()> {
        let own = |layer: &mut Layer| !layer.is_shared();
        let own: Vec<bool> = self.layers.iter_mut().map(own).collect();
        let Some(first) = own.iter().position(|own| *own) else {
            return Ok(());
        };
        let mut page = Buffer::zeroed();
        for place in 0..self.of.len() {
            let layer = usize::from(self.of[place]);
            if own[layer] && layer != first {
                let at = place as u64 * PAGE_BYTES;
                self.lengthen(first as u8, at + PAGE_BYTES);
                self.layers[layer].file.read_exact_at(&mut page.0, at)?;
                self.layers[first].file.write_all_at(&page.0, at)?;
                self.of[place] = first as u8;
            }
        }
        // Numbers stay: only the last layers can go.
        while self.layers.len() > first + 1 && own[self.layers.len() - 1] {
            self.layers.pop();
        }
        Ok(())
    }
}

impl Layer {
    fn new(file: File) -> Self {
        let about = file.metadata().ok().filter(|about| about.is_file());
        Self {
            length: about.map(|about| about.len()),
            file: Kept::new(file),
            sharers: Vec::new(),
        }
    }

    /// Whether another process may have places here.
    fn is_shared(&mut self) -> bool {
        self.sharers.retain(is_open);
        !self.sharers.is_empty()
    }
}

/// Whether a process has the other end of a socket.
fn is_open(socket: &Arc<Kept<OwnedFd>>) -> bool {
    let mut asked = [PollFd::new(&**socket, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Where nothing is known the other end is taken for open.
    poll(&mut asked, Some(&now)).is_err() || !asked[0].revents().contains(PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn layers() -> Layers {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        Layers::new(open_in(directory).unwrap(), Some(directory.to_owned()))
    }

    /// Forks without a process: the other end of the sockets is returned.
    fn fork(layers: &mut Layers) -> UnixStream {
        layers.share().unwrap();
        let other = layers.pair.as_ref().unwrap().1.try_clone().unwrap();
        layers.forked(Side::Parent);
        other
    }

    #[test]
    fn shared_layers_are_not_written_until_the_other_process_is_gone() {
        let mut layers = layers();
        assert!(!layers.choose(3).unwrap());
        let child = fork(&mut layers);
        assert!(layers.choose(3).unwrap() && !layers.choose(3).unwrap());
        assert_eq!((layers.of(3), layers.of(4)), (1, 0));
        let second = fork(&mut layers);
        assert!(layers.choose(3).unwrap());
        assert_eq!(layers.of(3), 2);
        drop(second);
        // The first child has nothing in the second layer.
        assert!(layers.choose(3).unwrap());
        assert_eq!(layers.of(3), 1);
        drop(child);
        assert!(layers.choose(3).unwrap());
        assert_eq!(layers.of(3), 0);
    }

    #[test]
    fn files_do_not_become_more_and_more() {
        let mut layers = layers();
        for turn in 0..100_u8 {
            let page = Buffer([turn; PAGE_BYTES as usize]);
            let child = fork(&mut layers);
            let place = u32::from(turn);
            layers.choose(place).unwrap();
            let layer = layers.of(place);
            let at = u64::from(place) * PAGE_BYTES;
            layers.lengthen(layer, at + PAGE_BYTES);
            layers.file(layer).write_all_at(&page.0, at).unwrap();
            // One child outlives the next fork.
            let next = fork(&mut layers);
            drop((child, next));
        }
        assert!(layers.layers.len() <= FEW + 1);
        let mut page = Buffer::zeroed();
        for place in 0..100 {
            let file = layers.file(layers.of(place));
            let read = file.read_exact_at(&mut page.0, u64::from(place) * PAGE_BYTES);
            read.unwrap();
            assert!(page.0.iter().all(|byte| u32::from(*byte) == place));
        }
    }
}
