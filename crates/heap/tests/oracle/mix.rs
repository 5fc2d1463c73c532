//! Random programs of one thread over all containers at once, and their twin of plain collections.

use std::collections::{BTreeMap, VecDeque};

use super::random;

/// Plain objects, and the words of each.
pub const OBJECTS: usize = 3;
pub const WORDS: usize = 10;
/// Bytes by which a pool grows.
const GROWTH: u64 = 64 << 10;

/// Bytes that only their length and one number say.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    pub value: u64,
    pub len: usize,
}

impl Text {
    pub fn bytes(self) -> Vec<u8> {
        let all = self.value.to_le_bytes().repeat(self.len.div_ceil(8));
        all[..self.len].to_vec()
    }
}

/// The change of one container, or of an object.
#[derive(Clone, Debug)]
pub enum Step {
    /// Entries of a hash map of words.
    Put(u64, u64),
    Remove(u64),
    /// Entries of a hash map of bytes.
    PutBytes(Text, Text),
    RemoveBytes(Text),
    /// Entries of a tree of bytes.
    Plant(Text, Text),
    Cut(Text),
    /// Elements of a queue.
    Push(Text),
    Pop,
    /// Elements of a vector; that of a number is the one of this number modulo their count.
    Append(u64),
    Replace(u64, u64),
    Shorten,
    /// Objects: made where there is none, changed and freed where there is one.
    Make(usize, u64),
    Set(usize, u64),
    Free(usize),
}

/// Some steps of a transaction.
#[derive(Clone, Debug)]
pub struct Part {
    /// They are a transaction of their own, within the other one.
    pub nested: bool,
    /// It fails when they are done; the error of a nested one is ignored.
    pub fails: bool,
    pub steps: Vec<Step>,
}

/// One operation of a program.
#[derive(Clone, Debug)]
pub enum Op {
    One(Step),
    /// A transaction.
    All(Vec<Part>),
    /// The pool becomes at least so long.
    Grow(u64),
    Compact,
}

/// What programs do.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Keys of each map.
    pub keys: u64,
    /// The most bytes of a value, which few have.
    pub longest: u64,
    /// Bytes of the pool, and how often it grows.
    pub pool: u64,
    pub growths: u64,
}

impl Op {
    /// Whether it changes anything, if there is room.
    pub fn happens(&self) -> bool {
        match self {
            Op::All(parts) => parts.iter().all(|part| !part.fails),
            _ => true,
        }
    }
}

/// A program without an end.
pub fn program(seed: u64, habits: Habits) -> impl Iterator<Item = Op> {
    let mut next = random(seed);
    (1..).map(move |number| one(&mut next, habits, seed << 32 | number))
}

fn one(next: &mut impl FnMut(u64) -> u64, habits: Habits, value: u64) -> Op {
    match next(60) {
        0 if habits.growths > 0 => Op::Grow(habits.pool + GROWTH * (1 + next(habits.growths))),
        1 => Op::Compact,
        2..24 => {
            let parts = 1 + next(3);
            Op::All((0..parts).map(|_| part(next, habits, value)).collect())
        }
        _ => Op::One(step(next, habits, value)),
    }
}

fn part(next: &mut impl FnMut(u64) -> u64, habits: Habits, value: u64) -> Part {
    let steps = 1 + next(4);
    Part {
        nested: next(2) == 0,
        fails: next(12) == 0,
        steps: (0..steps).map(|_| step(next, habits, value)).collect(),
    }
}

fn step(next: &mut impl FnMut(u64) -> u64, habits: Habits, value: u64) -> Step {
    let number = next(habits.keys);
    let key = Text {
        value: number,
        len: 1 + number as usize % 24,
    };
    let len = match next(10) {
        0 => next(habits.longest + 1),
        _ => next(48),
    };
    let text = Text {
        value,
        len: len as usize,
    };
    let object = number as usize % OBJECTS;
    match next(20) {
        0..3 => Step::Put(number, value),
        3 => Step::Remove(number),
        4..6 => Step::PutBytes(key, text),
        6 => Step::RemoveBytes(key),
        7..9 => Step::Plant(key, text),
        9 => Step::Cut(key),
        10..12 => Step::Push(text),
        12..14 => Step::Pop,
        14 => Step::Append(value),
        15 => Step::Replace(number, value),
        16 => Step::Shorten,
        17 => Step::Make(object, value),
        18 => Step::Set(object, value),
        _ => Step::Free(object),
    }
}

/// The slow, obviously right twin of all containers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub words: BTreeMap<u64, u64>,
    pub texts: BTreeMap<Vec<u8>, Vec<u8>>,
    pub tree: BTreeMap<Vec<u8>, Vec<u8>>,
    pub queue: VecDeque<Vec<u8>>,
    pub vector: Vec<[u64; 3]>,
    pub objects: [Option<[u64; WORDS]>; OBJECTS],
}

impl Model {
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::One(step) => self.step(step),
            Op::All(parts) if op.happens() => {
                let steps = parts.iter().flat_map(|part| &part.steps);
                steps.for_each(|step| self.step(step));
            }
            Op::All(_) | Op::Grow(_) | Op::Compact => {}
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Put(key, value) => drop(self.words.insert(key, value)),
            Step::Remove(key) => drop(self.words.remove(&key)),
            Step::PutBytes(key, value) => drop(self.texts.insert(key.bytes(), value.bytes())),
            Step::RemoveBytes(key) => drop(self.texts.remove(&key.bytes())),
            Step::Plant(key, value) => drop(self.tree.insert(key.bytes(), value.bytes())),
            Step::Cut(key) => drop(self.tree.remove(&key.bytes())),
            Step::Push(value) => self.queue.push_back(value.bytes()),
            Step::Pop => drop(self.queue.pop_front()),
            Step::Append(value) => self.vector.push([value; 3]),
            Step::Replace(number, value) => {
                if let Some(last) = self.vector.len().checked_sub(1) {
                    self.vector[number as usize % (last + 1)] = [value; 3];
                }
            }
            Step::Shorten => drop(self.vector.pop()),
            Step::Make(i, value) => drop(self.objects[i].get_or_insert([value; WORDS])),
            Step::Set(i, value) => {
                if let Some(object) = &mut self.objects[i] {
                    object[0] = value;
                }
            }
            Step::Free(i) => self.objects[i] = None,
        }
    }
}
