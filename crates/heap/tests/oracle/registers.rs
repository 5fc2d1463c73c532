//! What threads do to the entries of several maps at once, and say of it (`history`).
//!
//! Each key is an entry of one of four maps. Some are registers, which are set and removed; others
//! are accounts. Transactions move money between them, and its sum stays.

use terrace_heap::containers::{BTreeMap, HashMap};
use terrace_heap::{Cause, Error, Heap, Medium, Result, Transaction};

use super::history::{Entry, Event, State};
use super::random;

/// Keys of registers are below this, and keys of accounts follow.
const REGISTERS: u64 = 16;
const ACCOUNTS: u64 = 6;
/// What is in each account at first.
const MONEY: u64 = 1000;
/// A value is an amount of money above this many bits, and a unique number below.
const NUMBER_BITS: u32 = 40;
/// Numbers of a thread.
const THREAD_BITS: u32 = 32;

/// Maps, as one thread has opened them.
pub struct Registers<M: Medium> {
    heap: Heap<M>,
    words: HashMap<u64, u64, M>,
    texts: HashMap<[u8], [u8], M>,
    tree: BTreeMap<[u8], [u8], M>,
}

/// A thread that works, and says what it does.
struct Worker<'w, M: Medium> {
    registers: Registers<M>,
    thread: u64,
    values: u64,
    say: &'w dyn Fn(Event),
}

/// Bytes whose length depends on the value; few are long.
fn text(value: u64) -> Vec<u8> {
    let words = match value % 16 {
        0 => 150,
        few => few,
    };
    value.to_le_bytes().repeat(words as usize)
}

/// The value of a text.
///
/// # Panics
///
/// If it is of no value.
fn value_of(bytes: &[u8]) -> u64 {
    let word = bytes.first_chunk().expect("a text has a word");
    let value = u64::from_le_bytes(*word);
    assert!(bytes == text(value), "{bytes:?} is torn");
    value
}

/// Sets or removes an entry of a map, or of one that a transaction has opened.
macro_rules! set {
    ($map:expr, $key:expr, $value:expr) => {
        match $value {
            Some(value) => $map.insert($key, value),
            None => $map.remove($key),
        }
    };
}

impl<M: Medium> Registers<M> {
    /// Makes the maps in a new heap, with money in their accounts, or finds them in an old one.
    pub fn open(heap: &Heap<M>) -> Result<Self> {
        let registers = Self {
            words: HashMap::open_with_capacity(heap, "words", 1)?,
            texts: HashMap::open_with_capacity(heap, "texts", 1)?,
            tree: BTreeMap::open(heap, "tree")?,
            heap: heap.clone(),
        };
        for account in REGISTERS..REGISTERS + ACCOUNTS {
            if registers.get(account)?.is_none() {
                registers.set(account, Some(MONEY << NUMBER_BITS))?;
            }
        }
        Ok(registers)
    }

    /// All entries.
    ///
    /// # Panics
    ///
    /// If a value is torn, or money was made or lost.
    pub fn state(&self) -> Result<State> {
        let mut state: State = self.words.iter().collect::<Result<_>>()?;
        let texts = self.texts.iter().chain(self.tree.iter());
        for entry in texts {
            let (key, value) = entry?;
            let key = key.try_into().expect("keys have eight bytes");
            state.insert(u64::from_le_bytes(key), value_of(&value));
        }
        let money = state
            .range(REGISTERS..)
            .map(|(_, value)| value >> NUMBER_BITS);
        assert_eq!(money.sum::<u64>(), ACCOUNTS * MONEY, "{state:?}");
        Ok(state)
    }

    /// The offset of each object as often as it is reached, in order.
    pub fn objects(&self) -> Result<Vec<u64>> {
        let mut all = self.words.objects()?;
        all.extend(self.texts.objects()?);
        all.extend(self.tree.objects()?);
        all.sort_unstable();
        Ok(all)
    }

    fn get(&self, key: u64) -> Result<Option<u64>> {
        let bytes = &key.to_le_bytes()[..];
        match key % 3 {
            0 => self.words.get(&key),
            1 => Ok(self.texts.get(bytes)?.as_deref().map(value_of)),
            _ => Ok(self.tree.get(bytes)?.as_deref().map(value_of)),
        }
    }

    fn set(&self, key: u64, value: Option<u64>) -> Result<Option<u64>> {
        let (bytes, text) = (&key.to_le_bytes()[..], value.map(text));
        match key % 3 {
            0 => set!(self.words, &key, &value),
            1 => Ok(set!(self.texts, bytes, &text)?.as_deref().map(value_of)),
            _ => Ok(set!(self.tree, bytes, &text)?.as_deref().map(value_of)),
        }
    }

    fn get_in(&self, tx: &Transaction<M>, key: u64) -> Result<Option<u64>> {
        let bytes = &key.to_le_bytes()[..];
        match key % 3 {
            0 => tx.open(&self.words)?.get(&key),
            1 => Ok(tx.open(&self.texts)?.get(bytes)?.as_deref().map(value_of)),
            _ => Ok(tx.open(&self.tree)?.get(bytes)?.as_deref().map(value_of)),
        }
    }

    fn set_in(&self, tx: &Transaction<M>, (key, value): Entry) -> Result<Option<u64>> {
        let (bytes, text) = (&key.to_le_bytes()[..], value.map(text));
        match key % 3 {
            0 => set!(tx.open(&self.words)?, &key, &value),
            1 => Ok(set!(tx.open(&self.texts)?, bytes, &text)?
                .as_deref()
                .map(value_of)),
            _ => Ok(set!(tx.open(&self.tree)?, bytes, &text)?
                .as_deref()
                .map(value_of)),
        }
    }
}

/// Works as this thread, for as many operations, which it says.
///
/// # Errors
///
/// The heap's, but that it is full.
pub fn work<M: Medium>(
    heap: &Heap<M>,
    thread: usize,
    (seed, operations): (u64, usize),
    say: &dyn Fn(Event),
) -> Result<()> {
    let mut worker = Worker {
        registers: Registers::open(heap)?,
        thread: thread as u64 + 1,
        values: seed << 18,
        say,
    };
    let mut next = random(seed << 8 | thread as u64);
    for _ in 0..operations {
        match worker.operation(&mut next) {
            Err(error) if error.cause() == Cause::Full => (worker.say)(Event::Failed),
            done => done?,
        }
    }
    Ok(())
}

impl<M: Medium> Worker<'_, M> {
    fn operation(&mut self, next: &mut impl FnMut(u64) -> u64) -> Result<()> {
        let (key, other) = (next(REGISTERS), next(REGISTERS));
        let value = self.value();
        match next(12) {
            0..4 => self.set((key, Some(value))),
            4 => self.set((key, None)),
            5..7 => self.get(key),
            7..10 => self.transfer(
                REGISTERS + next(ACCOUNTS),
                REGISTERS + next(ACCOUNTS),
                next(9),
            ),
            10 => self.nest([(key, Some(value)), (other, None)], next(3) == 0),
            _ => self.nest([(key, None), (other, Some(value))], next(3) == 0),
        }
    }

    /// A number that no value has yet.
    fn value(&mut self) -> u64 {
        self.values += 1;
        self.thread << THREAD_BITS | self.values
    }

    fn set(&self, entry: Entry) -> Result<()> {
        let (seen, sets) = (Vec::new(), vec![entry]);
        (self.say)(Event::Means { seen, sets });
        let old = self.registers.set(entry.0, entry.1)?;
        self.ended(vec![(entry.0, old)]);
        Ok(())
    }

    fn get(&self, key: u64) -> Result<()> {
        let (seen, sets) = (Vec::new(), Vec::new());
        (self.say)(Event::Means { seen, sets });
        let value = self.registers.get(key)?;
        self.ended(vec![(key, value)]);
        Ok(())
    }

    fn ended(&self, seen: Vec<Entry>) {
        (self.say)(Event::Ended { seen });
    }

    /// Moves money, as much as there is.
    fn transfer(&mut self, from: u64, to: u64, most: u64) -> Result<()> {
        let numbers = [self.value(), self.value()];
        if from == to {
            return Ok(());
        }
        let registers = &self.registers;
        registers.heap.transaction(|tx| {
            let mut both = [0; 2];
            for (key, value) in [from, to].into_iter().zip(&mut both) {
                *value = registers.get_in(tx, key)?.expect("accounts stay");
            }
            let seen = vec![(from, Some(both[0])), (to, Some(both[1]))];
            let money = both.map(|value| value >> NUMBER_BITS);
            let moved = money[0].min(most);
            let with = |money: u64, number| Some(money << NUMBER_BITS | number);
            let sets = vec![
                (from, with(money[0] - moved, numbers[0])),
                (to, with(money[1] + moved, numbers[1])),
            ];
            for &entry in &sets {
                registers.set_in(tx, entry)?;
            }
            (self.say)(Event::Means { seen, sets });
            Ok::<_, Error>(())
        })?;
        self.ended(Vec::new());
        Ok(())
    }

    /// Changes two entries, the second by a transaction within the first, which may fail.
    fn nest(&self, [first, second]: [Entry; 2], fails: bool) -> Result<()> {
        let registers = &self.registers;
        let done = registers.heap.transaction(|tx| {
            let mut seen = vec![(first.0, registers.set_in(tx, first)?)];
            let inner = registers.heap.transaction(|tx| {
                let old = registers.set_in(tx, second)?;
                seen.extend((first.0 != second.0).then_some((second.0, old)));
                (self.say)(Event::Means {
                    seen: seen.clone(),
                    sets: vec![first, second],
                });
                match fails {
                    true => Err(Error::usage("on purpose")),
                    false => Ok(()),
                }
            });
            match fails {
                // That all fails does not depend on what is done about it here.
                true => Ok(()),
                false => inner,
            }
        });
        match done {
            Ok(()) => self.ended(Vec::new()),
            Err(error) if error.cause() == Cause::Usage && fails => (self.say)(Event::Failed),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
