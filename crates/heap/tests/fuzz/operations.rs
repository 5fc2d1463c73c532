//! Operations on several containers: by themselves, in transactions, with the pool closed, crashed
//! and opened again in between, against the standard library's containers.

use std::sync::{Arc, Mutex};

use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Cause, Error, Result, Transaction, use_lane};

use crate::common::{Memory, TestHeap, create, open, options, used};
use crate::input::Input;
use crate::model::{Answer, Element, Model, Op, apply};

/// So few that the pool becomes full at times.
const POOL_BYTES: u64 = 64 * 4096;
const LANES: u16 = 2;
/// The most steps of an input: later ones find what earlier ones did.
const STEPS: usize = 400;
const ON_PURPOSE: &str = "on purpose";

/// Containers, or what a transaction opens of them.
pub struct Containers<N, W, O, T, Q, V> {
    numbers: N,
    words: W,
    ordered: O,
    texts: T,
    queue: Q,
    vector: V,
}

type All = Containers<
    HashMap<u64, u64, Memory>,
    HashMap<[u8], [u8], Memory>,
    BTreeMap<u64, [u64; 3], Memory>,
    BTreeMap<[u8], [u8], Memory>,
    Queue<[u8], Memory>,
    Vector<Element, Memory>,
>;

/// Carries out what the input says.
pub fn operations(data: &[u8]) {
    let mut input = Input::new(data);
    let medium = Simulated::new(POOL_BYTES, Granule::Line);
    let medium = match input.byte() % 2 {
        0 => medium,
        _ => medium.writing_pages(),
    };
    let mut run = Run::new(Arc::new(medium));
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        run.step(&mut input);
    }
    run.reopen();
    run.expect(&[run.model.clone()]);
}

/// A heap, its containers and their twin.
struct Run {
    medium: Memory,
    heap: TestHeap,
    all: All,
    model: Model,
}

impl Run {
    fn new(medium: Memory) -> Self {
        use_lane(0);
        let heap = create(Arc::clone(&medium), &options(LANES));
        let all = All::open(&heap);
        Self {
            medium,
            heap,
            all,
            model: Model::default(),
        }
    }

    fn step(&mut self, input: &mut Input) {
        match input.byte() {
            0..180 => self.alone(&Op::of(input)),
            180..220 => self.transaction(input),
            220..230 => self.crash(input),
            230..240 => self.reopen(),
            240..244 => drop(self.heap.compact().unwrap()),
            244..246 => self.grow(),
            lane => use_lane(usize::from(lane)),
        }
    }

    /// One operation by itself.
    fn alone(&mut self, op: &Op) {
        let before = self.model.clone();
        let expected = self.model.apply(op);
        match self.all.apply(op) {
            Ok(answer) => assert_eq!(answer, expected, "{op:?}"),
            Err(error) => {
                expect_full(&error);
                self.model = before;
            }
        }
    }

    /// Some operations in a transaction, a few of them in one that is part of it. It is committed,
    /// or fails at the end, or its part does.
    fn transaction(&mut self, input: &mut Input) {
        let how = input.byte();
        let count = usize::from(input.byte() % 12);
        let ops: Vec<Op> = (0..count).map(|_| Op::of(input)).collect();
        let (mut model, all) = (self.model.clone(), &self.all);
        let carry_out = |ops: &[Op], model: &mut Model, tx: &Transaction<Memory>| {
            ops.iter().try_for_each(|op| {
                let expected = model.apply(op);
                assert_eq!(all.apply_in(tx, op)?, expected, "{op:?}");
                Ok(())
            })
        };
        let (first, second) = ops.split_at(count / 2);
        let done = self.heap.transaction(|tx| {
            model = self.model.clone();
            carry_out(first, &mut model, tx)?;
            let part = self.heap.transaction(|tx| {
                carry_out(second, &mut model, tx)?;
                fail_if(how.is_multiple_of(5))
            });
            part.or_else(|error| expect_failed(&error))?;
            fail_if(how % 5 == 1)
        });
        match done {
            Ok(()) => {
                assert!(how % 5 > 1, "a transaction happened that had failed");
                self.model = model;
            }
            Err(error) => expect_failed(&error).unwrap(),
        }
    }

    /// A crash at a fence of an operation, or when it has returned.
    fn crash(&mut self, input: &mut Input) {
        let (mut fences, seed) = (input.byte() % 4, input.word::<1>());
        let left = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&left);
        self.medium.at_fence(move |medium| {
            if fences == 0 {
                let mut keep = keep.lock().unwrap();
                keep.get_or_insert_with(|| image(medium, seed));
            }
            fences = fences.saturating_sub(1);
        });
        let before = self.model.clone();
        match input.byte() % 2 {
            0 => self.alone(&Op::of(input)),
            _ => self.transaction(input),
        }
        self.medium.at_fence(|_| ());
        let kept = left.lock().unwrap().take();
        let allowed = match kept {
            Some(_) => vec![before, self.model.clone()],
            None => vec![self.model.clone()],
        };
        self.medium = Arc::new(kept.unwrap_or_else(|| image(&self.medium, seed)));
        let copy = Simulated::from_bytes(&self.medium.bytes(), Granule::Line);
        assert_eq!(check(copy), []);
        self.open();
        self.expect(&allowed);
        self.model = self.all.state().unwrap();
    }

    fn reopen(&mut self) {
        self.heap.clone().close().unwrap();
        self.open();
    }

    fn open(&mut self) {
        self.heap = open(Arc::clone(&self.medium)).unwrap();
        self.all = All::open(&self.heap);
    }

    fn grow(&mut self) {
        let bytes = self.heap.len() + 4096;
        if bytes <= 2 * POOL_BYTES {
            self.heap.grow(bytes).unwrap();
        }
    }

    /// The containers hold what one of these does, and all objects are theirs.
    fn expect(&self, allowed: &[Model]) {
        let state = self.all.state().unwrap();
        assert!(allowed.contains(&state), "{state:?} is none of {allowed:?}");
        let mut reached = self.all.objects().unwrap();
        reached.sort_unstable();
        assert_eq!(reached, used(&self.heap));
    }
}

/// One of the memories that a crash could leave.
fn image(medium: &Simulated, seed: u64) -> Simulated {
    let images = medium.crash_images(8, seed);
    let image = images.enumerate().find(|(i, _)| *i as u64 == seed % 4);
    let bytes = image.map_or_else(|| medium.bytes(), |(_, image)| image.bytes());
    Simulated::from_bytes(&bytes, Granule::Line)
}

fn expect_full(error: &Error) {
    assert_eq!(error.cause(), Cause::Full, "{error}");
}

/// A transaction fails on purpose, or because there is no room.
fn expect_failed(error: &Error) -> Result<()> {
    let sentence = error.to_string();
    let meant = [ON_PURPOSE, "a nested transaction failed"];
    let meant = meant.iter().any(|part| sentence.contains(part));
    assert!(meant || error.cause() == Cause::Full, "{error}");
    Ok(())
}

fn fail_if(fails: bool) -> Result<()> {
    match fails {
        true => Err(Error::usage(ON_PURPOSE)),
        false => Ok(()),
    }
}

impl All {
    fn open(heap: &TestHeap) -> Self {
        Self {
            numbers: HashMap::open_with_capacity(heap, "numbers", 1).unwrap(),
            words: HashMap::open_with_capacity(heap, "words", 1).unwrap(),
            ordered: BTreeMap::open(heap, "ordered").unwrap(),
            texts: BTreeMap::open(heap, "texts").unwrap(),
            queue: Queue::open(heap, "queue").unwrap(),
            vector: Vector::open(heap, "vector").unwrap(),
        }
    }

    fn apply(&self, op: &Op) -> Result<Answer> {
        apply!(self, op)
    }

    fn apply_in(&self, tx: &Transaction<Memory>, op: &Op) -> Result<Answer> {
        let opened = Containers {
            numbers: tx.open(&self.numbers)?,
            words: tx.open(&self.words)?,
            ordered: tx.open(&self.ordered)?,
            texts: tx.open(&self.texts)?,
            queue: tx.open(&self.queue)?,
            vector: tx.open(&self.vector)?,
        };
        apply!(&opened, op)
    }

    fn state(&self) -> Result<Model> {
        let model = Model {
            numbers: self.numbers.iter().collect::<Result<_>>()?,
            words: self.words.iter().collect::<Result<_>>()?,
            ordered: self.ordered.iter().collect::<Result<_>>()?,
            texts: self.texts.iter().collect::<Result<_>>()?,
            queue: self.queue.iter().collect::<Result<_>>()?,
            vector: self.vector.iter().collect::<Result<_>>()?,
        };
        assert_eq!(self.numbers.len()?, model.numbers.len() as u64);
        assert_eq!(self.words.len()?, model.words.len() as u64);
        assert_eq!(self.ordered.len()?, model.ordered.len() as u64);
        assert_eq!(self.texts.len()?, model.texts.len() as u64);
        assert_eq!(self.queue.len()?, model.queue.len() as u64);
        Ok(model)
    }

    /// The offset of each object as often as it is reached.
    fn objects(&self) -> Result<Vec<u64>> {
        let all = [
            self.numbers.objects()?,
            self.words.objects()?,
            self.ordered.objects()?,
            self.texts.objects()?,
            self.queue.objects()?,
            self.vector.objects()?,
        ];
        Ok(all.concat())
    }
}
