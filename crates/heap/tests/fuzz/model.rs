//! What containers hold, as the standard library's hold it, and operations on either.

use std::collections::{BTreeMap, VecDeque};

use crate::input::Input;

/// Bytes of an element of the vector: an odd size.
pub type Element = [u8; 21];

/// The slow, obviously right twin of [`Containers`](crate::operations::Containers).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub numbers: BTreeMap<u64, u64>,
    pub words: BTreeMap<Vec<u8>, Vec<u8>>,
    pub ordered: BTreeMap<u64, [u64; 3]>,
    pub texts: BTreeMap<Vec<u8>, Vec<u8>>,
    pub queue: VecDeque<Vec<u8>>,
    pub vector: Vec<Element>,
}

/// One operation on one container.
#[derive(Clone, Debug)]
pub enum Op {
    Insert(u64, u64),
    Remove(u64),
    Put(Vec<u8>, Vec<u8>),
    Take(Vec<u8>),
    InsertOrdered(u64, u64),
    RemoveOrdered(u64),
    PutText(Vec<u8>, Vec<u8>),
    TakeText(Vec<u8>),
    After(Vec<u8>),
    PushBack(Vec<u8>),
    PopFront,
    Push(Element),
    Pop,
    Set(u64, Element),
    Truncate(u64),
}

/// What an operation returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Done,
    /// There is no such element.
    Refused,
    Number(Option<u64>),
    Three(Option<[u64; 3]>),
    Bytes(Option<Vec<u8>>),
    Pair(Option<(Vec<u8>, Vec<u8>)>),
    Element(Option<Element>),
}

impl Op {
    pub fn of(input: &mut Input) -> Self {
        let element = |input: &mut Input| [input.byte(); 21];
        match input.byte() % 16 {
            0 | 15 => Op::Insert(key(input), input.word::<1>()),
            1 => Op::Remove(key(input)),
            2 => Op::Put(text(input), text(input)),
            3 => Op::Take(text(input)),
            4 => Op::InsertOrdered(key(input), input.word::<1>()),
            5 => Op::RemoveOrdered(key(input)),
            6 => Op::PutText(text(input), text(input)),
            7 => Op::TakeText(text(input)),
            8 => Op::After(text(input)),
            9 => Op::PushBack(text(input)),
            10 => Op::PopFront,
            11 => Op::Push(element(input)),
            12 => Op::Pop,
            13 => Op::Set(input.word::<1>(), element(input)),
            _ => Op::Truncate(input.word::<1>()),
        }
    }
}

/// Few, so that they meet again.
fn key(input: &mut Input) -> u64 {
    input.word::<1>()
}

/// Texts that begin alike, some of them long.
fn text(input: &mut Input) -> Vec<u8> {
    let (letter, len) = (input.byte(), usize::from(input.byte()));
    let len = if len < 240 {
        len % 48
    } else {
        (len - 239) * 110
    };
    let mut text = vec![b'a'; len];
    if let Some(last) = text.last_mut() {
        *last = letter % 4;
    }
    text
}

impl Model {
    pub fn apply(&mut self, op: &Op) -> Answer {
        match op.clone() {
            Op::Insert(key, value) => Answer::Number(self.numbers.insert(key, value)),
            Op::Remove(key) => Answer::Number(self.numbers.remove(&key)),
            Op::Put(key, value) => Answer::Bytes(self.words.insert(key, value)),
            Op::Take(key) => Answer::Bytes(self.words.remove(&key)),
            Op::InsertOrdered(key, value) => Answer::Three(self.ordered.insert(key, [value; 3])),
            Op::RemoveOrdered(key) => Answer::Three(self.ordered.remove(&key)),
            Op::PutText(key, value) => Answer::Bytes(self.texts.insert(key, value)),
            Op::TakeText(key) => Answer::Bytes(self.texts.remove(&key)),
            Op::After(key) => {
                let next = self.texts.range(key..).next();
                Answer::Pair(next.map(|(key, value)| (key.clone(), value.clone())))
            }
            Op::PushBack(value) => {
                self.queue.push_back(value);
                Answer::Done
            }
            Op::PopFront => Answer::Bytes(self.queue.pop_front()),
            Op::Push(element) => {
                self.vector.push(element);
                Answer::Done
            }
            Op::Pop => Answer::Element(self.vector.pop()),
            Op::Set(index, element) => match self.vector.get_mut(index as usize) {
                Some(at) => {
                    *at = element;
                    Answer::Done
                }
                None => Answer::Refused,
            },
            Op::Truncate(len) => {
                self.vector.truncate(len as usize);
                Answer::Done
            }
        }
    }
}

/// Carries out an operation on containers, whether they are used by themselves or within a
/// transaction.
macro_rules! apply {
    ($containers:expr, $op:expr) => {{
        let (all, op): (_, &$crate::model::Op) = ($containers, $op);
        Ok(match op {
            Op::Insert(key, value) => Answer::Number(all.numbers.insert(key, value)?),
            Op::Remove(key) => Answer::Number(all.numbers.remove(key)?),
            Op::Put(key, value) => Answer::Bytes(all.words.insert(key, value)?),
            Op::Take(key) => Answer::Bytes(all.words.remove(key)?),
            Op::InsertOrdered(key, value) => Answer::Three(all.ordered.insert(key, &[*value; 3])?),
            Op::RemoveOrdered(key) => Answer::Three(all.ordered.remove(key)?),
            Op::PutText(key, value) => Answer::Bytes(all.texts.insert(key, value)?),
            Op::TakeText(key) => Answer::Bytes(all.texts.remove(key)?),
            Op::After(key) => {
                let mut cursor = all.texts.cursor();
                let next = cursor.seek(key)?;
                Answer::Pair(next.map(|(key, value)| (key.to_vec(), value.to_vec())))
            }
            Op::PushBack(value) => all.queue.push(value).map(|()| Answer::Done)?,
            Op::PopFront => Answer::Bytes(all.queue.pop()?),
            Op::Push(element) => all.vector.push(element).map(|()| Answer::Done)?,
            Op::Pop => Answer::Element(all.vector.pop()?),
            Op::Set(index, element) => match all.vector.set(*index, element) {
                Err(error) if error.cause() == Cause::Usage => Answer::Refused,
                set => set.map(|()| Answer::Done)?,
            },
            Op::Truncate(len) => all.vector.truncate(*len).map(|()| Answer::Done)?,
        })
    }};
}
pub(crate) use apply;
