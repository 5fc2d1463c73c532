//! All containers of a heap, on which programs of `mix` are carried out.

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::{Cause, Error, Heap, Medium, Place, Ptr, Result, Transaction};

use super::mix::{Model, OBJECTS, Op, Part, Step, WORDS};

/// What parts fail with that are to fail.
const ON_PURPOSE: &str = "on purpose";

/// All containers, and the places of objects.
pub struct Containers<M: Medium> {
    heap: Heap<M>,
    words: HashMap<u64, u64, M>,
    texts: HashMap<[u8], [u8], M>,
    tree: BTreeMap<[u8], [u8], M>,
    queue: Queue<[u8], M>,
    vector: Vector<[u64; 3], M>,
    places: [Place<[u64; WORDS]>; OBJECTS],
}

impl<M: Medium> Containers<M> {
    /// Makes them in a new heap, or finds them in an old one.
    pub fn open(heap: &Heap<M>) -> Result<Self> {
        let mut places = [Place::NULL; OBJECTS];
        for (i, place) in places.iter_mut().enumerate() {
            *place = heap.root(&format!("object {i}"), 0)?;
        }
        Ok(Self {
            words: HashMap::open_with_capacity(heap, "words", 1)?,
            texts: HashMap::open_with_capacity(heap, "texts", 1)?,
            tree: BTreeMap::open(heap, "tree")?,
            queue: Queue::open(heap, "queue")?,
            vector: Vector::open(heap, "vector")?,
            heap: heap.clone(),
            places,
        })
    }

    /// Carries out an operation, and says whether it has happened: it has not if it was to fail, or
    /// if there was no room.
    ///
    /// # Panics
    ///
    /// If it has happened although it was to fail.
    pub fn apply(&self, op: &Op) -> Result<bool> {
        let done = match op {
            Op::One(step) => self.single(step),
            Op::All(parts) => self.transaction(parts),
            Op::Grow(bytes) => self.heap.grow(*bytes),
            Op::Compact => self.heap.compact().map(drop),
        };
        match done {
            Ok(()) => {
                assert!(op.happens(), "{op:?} was to fail");
                Ok(true)
            }
            Err(error) if error.cause() == Cause::Full => Ok(false),
            Err(error) if error.cause() == Cause::Usage && !op.happens() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn transaction(&self, parts: &[Part]) -> Result<()> {
        self.heap.transaction(|tx| {
            let mut parts = parts.iter();
            parts.try_for_each(|part| match part.nested {
                false => self.part(tx, part),
                true => {
                    let done = self.heap.transaction(|inner| self.part(inner, part));
                    done.or_else(|error| match error == Error::usage(ON_PURPOSE) {
                        true => Ok(()),
                        false => Err(error),
                    })
                }
            })
        })
    }

    fn part(&self, tx: &Transaction<M>, part: &Part) -> Result<()> {
        let mut steps = part.steps.iter();
        steps.try_for_each(|step| self.within(tx, step))?;
        match part.fails {
            true => Err(Error::usage(ON_PURPOSE)),
            false => Ok(()),
        }
    }

    /// A step as an operation of its own.
    fn single(&self, step: &Step) -> Result<()> {
        match *step {
            Step::Put(key, value) => self.words.insert(&key, &value).map(drop),
            Step::Remove(key) => self.words.remove(&key).map(drop),
            Step::PutBytes(key, value) => self.texts.insert(&key.bytes(), &value.bytes()).map(drop),
            Step::RemoveBytes(key) => self.texts.remove(&key.bytes()).map(drop),
            Step::Plant(key, value) => self.tree.insert(&key.bytes(), &value.bytes()).map(drop),
            Step::Cut(key) => self.tree.remove(&key.bytes()).map(drop),
            Step::Push(value) => self.queue.push(&value.bytes()),
            Step::Pop => self.queue.pop().map(drop),
            Step::Append(value) => self.vector.push(&[value; 3]),
            Step::Replace(number, value) => match self.vector.len()? {
                0 => Ok(()),
                len => self.vector.set(number % len, &[value; 3]),
            },
            Step::Shorten => self.vector.pop().map(drop),
            Step::Make(i, value) => match self.heap.read(self.places[i])?.is_null() {
                true => self.heap.publish(self.places[i], &[value; WORDS]).map(drop),
                false => Ok(()),
            },
            Step::Set(i, value) => match self.heap.read(self.places[i])? {
                object if object.is_null() => Ok(()),
                object => self.heap.set(object.cast(), value),
            },
            Step::Free(i) => self.heap.free(self.places[i]),
        }
    }

    /// A step as a part of a transaction.
    fn within(&self, tx: &Transaction<M>, step: &Step) -> Result<()> {
        match *step {
            Step::Put(key, value) => tx.open(&self.words)?.insert(&key, &value).map(drop),
            Step::Remove(key) => tx.open(&self.words)?.remove(&key).map(drop),
            Step::PutBytes(key, value) => {
                let texts = tx.open(&self.texts)?;
                texts.insert(&key.bytes(), &value.bytes()).map(drop)
            }
            Step::RemoveBytes(key) => tx.open(&self.texts)?.remove(&key.bytes()).map(drop),
            Step::Plant(key, value) => {
                let tree = tx.open(&self.tree)?;
                tree.insert(&key.bytes(), &value.bytes()).map(drop)
            }
            Step::Cut(key) => tx.open(&self.tree)?.remove(&key.bytes()).map(drop),
            Step::Push(value) => tx.open(&self.queue)?.push(&value.bytes()),
            Step::Pop => tx.open(&self.queue)?.pop().map(drop),
            Step::Append(value) => tx.open(&self.vector)?.push(&[value; 3]),
            Step::Replace(number, value) => {
                let vector = tx.open(&self.vector)?;
                match vector.len()? {
                    0 => Ok(()),
                    len => vector.set(number % len, &[value; 3]),
                }
            }
            Step::Shorten => tx.open(&self.vector)?.pop().map(drop),
            Step::Make(i, value) => match tx.read(self.places[i])?.is_null() {
                true => tx.write(self.places[i], &tx.alloc(&[value; WORDS])?),
                false => Ok(()),
            },
            Step::Set(i, value) => match tx.read(self.places[i])? {
                object if object.is_null() => Ok(()),
                object => tx.set(object.cast(), value),
            },
            Step::Free(i) => match tx.read(self.places[i])? {
                object if object.is_null() => Ok(()),
                object => {
                    tx.free(object)?;
                    tx.write(self.places[i], &Ptr::NULL)
                }
            },
        }
    }

    /// All that can be seen.
    pub fn state(&self) -> Result<Model> {
        let mut objects = [None; OBJECTS];
        for (object, &place) in objects.iter_mut().zip(&self.places) {
            let pointer = self.heap.read(place)?;
            if !pointer.is_null() {
                *object = Some(self.heap.read(pointer)?);
            }
        }
        let state = Model {
            words: self.words.iter().collect::<Result<_>>()?,
            texts: self.texts.iter().collect::<Result<_>>()?,
            tree: self.tree.iter().collect::<Result<_>>()?,
            queue: self.queue.iter().collect::<Result<_>>()?,
            vector: self.vector.iter().collect::<Result<_>>()?,
            objects,
        };
        let lengths = [
            (self.words.len()?, state.words.len()),
            (self.texts.len()?, state.texts.len()),
            (self.tree.len()?, state.tree.len()),
            (self.queue.len()?, state.queue.len()),
            (self.vector.len()?, state.vector.len()),
        ];
        let same = |(said, found): &(u64, usize)| *said == *found as u64;
        assert!(lengths.iter().all(same), "{lengths:?}");
        Ok(state)
    }

    /// The offset of each object as often as it is reached, in order.
    pub fn objects(&self) -> Result<Vec<u64>> {
        let mut all = self.words.objects()?;
        all.extend(self.texts.objects()?);
        all.extend(self.tree.objects()?);
        all.extend(self.queue.objects()?);
        all.extend(self.vector.objects()?);
        for &place in &self.places {
            let object = self.heap.read(place)?.offset();
            all.extend((object != 0).then_some(object));
        }
        all.sort_unstable();
        Ok(all)
    }
}
