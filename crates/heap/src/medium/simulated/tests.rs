use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

/// What a program does to a memory of two pages.
#[derive(Clone, Debug)]
enum Step {
    Store(u64, Vec<u8>),
    Flush(u64, u64),
    Fence,
}

fn step() -> impl Strategy<Value = Step> {
    let word = prop_oneof![0u64..24, 62u64..67, 510u64..514];
    let bytes = prop::collection::vec(0u8..3, 1..20);
    prop_oneof![
        3 => (word, bytes).prop_map(|(word, bytes)| Step::Store(word * 8, bytes)),
        2 => (0u64..4200, 0u64..600).prop_map(|(offset, len)| Step::Flush(offset, len)),
        1 => Just(Step::Fence),
    ]
}

/// Written from the definition: each granule's contents after each store since the floor.
struct Slow {
    granule: u64,
    now: Vec<u8>,
    /// What each granule may be after a crash, and which of these the next fence makes the floor.
    may_be: Vec<(Vec<Vec<u8>>, usize)>,
}

impl Slow {
    fn new(len: u64, granule: Granule) -> Self {
        let granule = granule.bytes();
        let one = (vec![vec![0; granule as usize]], 0);
        Self {
            granule,
            now: vec![0; len as usize],
            may_be: vec![one; (len / granule) as usize],
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Store(offset, bytes) => {
                for (at, word) in (*offset as usize..).step_by(8).zip(bytes.chunks(8)) {
                    self.now[at..at + word.len()].copy_from_slice(word);
                    let number = at / self.granule as usize;
                    let from = number * self.granule as usize;
                    let is = self.now[from..from + self.granule as usize].to_vec();
                    self.may_be[number].0.push(is);
                }
            }
            Step::Flush(offset, len) => {
                for byte in *offset..offset + len {
                    let (contents, flushed) = &mut self.may_be[(byte / self.granule) as usize];
                    *flushed = contents.len() - 1;
                }
            }
            Step::Fence => {
                for (contents, flushed) in &mut self.may_be {
                    contents.drain(..*flushed);
                    *flushed = 0;
                }
            }
        }
    }

    /// Returns all that a crash could leave, if that is not too much.
    fn images(&self) -> Option<BTreeSet<Vec<u8>>> {
        let mut images = BTreeSet::from([Vec::new()]);
        for (contents, _) in &self.may_be {
            let longer = |image: &Vec<u8>| {
                let image = image.clone();
                contents.iter().map(move |end| [&image[..], end].concat())
            };
            images = images.iter().flat_map(longer).collect();
            if images.len() > 300 {
                return None;
            }
        }
        Some(images)
    }
}

fn perform(pool: &Simulated, step: &Step) {
    match step {
        Step::Store(offset, bytes) => pool.store(*offset, bytes),
        Step::Flush(offset, len) => pool.flush(*offset, *len),
        Step::Fence => pool.fence().unwrap(),
    }
}

fn granule() -> impl Strategy<Value = Granule> {
    prop_oneof![
        Just(Granule::Line),
        Just(Granule::Sector),
        Just(Granule::Page)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn images_are_those_of_the_definition(
        granule in granule(),
        steps in prop::collection::vec(step(), 0..14),
    ) {
        let pool = Simulated::new(8192, granule);
        let mut slow = Slow::new(8192, granule);
        for step in &steps {
            perform(&pool, step);
            slow.step(step);
            prop_assert_eq!(&pool.bytes(), &slow.now);
        }
        let images = pool.crash_images(u64::MAX, 0);
        if let Some(all) = slow.images() && images.total() < 20_000 {
            prop_assert!(images.is_exhaustive());
            let left: BTreeSet<_> = images.map(|image| image.bytes()).collect();
            prop_assert_eq!(left, all);
        }
    }

    /// An image is used, and the next is what it would have been if it had not been.
    #[test]
    fn what_is_done_to_an_image_is_its_own(
        before in prop::collection::vec(step(), 0..10),
        after in prop::collection::vec(step(), 0..10),
        kept_every in 1usize..5,
    ) {
        let pool = Simulated::new(8192, Granule::Line);
        before.iter().for_each(|step| perform(&pool, step));
        let untouched: Vec<_> = pool.crash_images(100, 3).map(|image| image.bytes()).collect();
        let mut kept = Vec::new();
        for (i, image) in pool.crash_images(100, 3).enumerate() {
            prop_assert_eq!(&image.bytes(), &untouched[i]);
            prop_assert_eq!(image.counts(), Counts::default());
            prop_assert_eq!(image.crash_images(9, 0).total(), 1);
            image.grow(12288).unwrap();
            image.store(8192, &[1; 64]);
            after.iter().for_each(|step| perform(&image, step));
            if i % kept_every == 0 {
                kept.push((i, image));
            }
        }
        for (i, image) in kept {
            let twin = Simulated::from_bytes(&untouched[i], Granule::Line);
            twin.grow(12288).unwrap();
            twin.store(8192, &[1; 64]);
            after.iter().for_each(|step| perform(&twin, step));
            prop_assert_eq!(image.bytes(), twin.bytes());
        }
    }
}

#[test]
fn samples_are_the_same_each_time_and_reach_the_corners() {
    let pool = Simulated::new(65536, Granule::Line);
    (0..200).for_each(|line| pool.store(line * 64, &[1; 64]));
    let sample = |seed| -> Vec<_> { pool.crash_images(50, seed).map(|i| i.bytes()).collect() };
    let images = pool.crash_images(50, 7);
    assert!(!images.is_exhaustive());
    assert_eq!(images.total(), u128::MAX);
    assert_eq!(sample(7), sample(7));
    assert_ne!(sample(7), sample(8));
    assert_eq!(sample(7).len(), 50);
    assert_eq!(sample(7)[0], vec![0; 65536]);
    assert_eq!(sample(7)[1], pool.bytes());
    let distinct: BTreeSet<_> = sample(7).into_iter().collect();
    assert!(distinct.len() > 45);
}

/// A flush is of what is there: what is stored between flush and fence can still be lost.
#[test]
fn a_store_after_its_flush_is_not_durable() {
    let pool = Simulated::new(4096, Granule::Line);
    pool.store_word(0, 1);
    pool.flush(0, 8);
    pool.store_word(0, 2);
    pool.fence().unwrap();
    let left: Vec<_> = pool.crash_images(9, 0).map(|i| i.load_word(0)).collect();
    assert_eq!(left, [1, 2]);
}

#[test]
fn words_of_a_stream_are_durable_in_an_order_of_their_own() {
    let pool = Simulated::new(4096, Granule::Line);
    pool.store_streaming(0, &[1; 16]);
    let first = |image: Simulated| (image.bytes()[0], image.bytes()[8]);
    let left: Vec<_> = pool.crash_images(9, 0).map(first).collect();
    assert_eq!(left, [(0, 0), (0, 1), (1, 1)]);
    pool.fence().unwrap();
    assert_eq!(pool.crash_images(9, 0).total(), 1);
}

#[test]
fn before_each_fence_a_crash_can_be_tried_and_during_recovery_again() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let pool = Simulated::new(4096, Granule::Line);
    let noted = Arc::clone(&seen);
    pool.at_fence(move |pool| {
        for image in pool.crash_images(10, 0) {
            let again = Arc::clone(&noted);
            image.at_fence(move |image| {
                let lost = image.crash_images(10, 0).map(|i| i.load_word(64)).min();
                lock(&again).push((image.load_word(0), lost.unwrap()));
            });
            image.store_word(64, 5);
            image.flush(64, 8);
            image.fence().unwrap();
        }
    });
    for word in 1..3 {
        pool.store_word(0, word);
        pool.flush(0, 8);
        pool.fence().unwrap();
    }
    assert_eq!(*lock(&seen), [(0, 0), (1, 0), (1, 0), (2, 0)]);
}

#[test]
fn lines_fences_and_bytes_are_counted() {
    let pool = Simulated::new(4096, Granule::Page);
    pool.store(8, &[1; 144]);
    pool.flush(8, 144);
    pool.store_word(0, 1);
    pool.flush(0, 8);
    pool.flush(0, 0);
    pool.fence().unwrap();
    let counts = Counts {
        lines: 4,
        fences: 1,
        syncs: 0,
        bytes: 152,
    };
    assert_eq!(pool.counts(), counts);
}

#[test]
fn a_short_tail_keeps_the_rest_of_its_word() {
    let pool = Simulated::from_bytes(&[9; 100], Granule::Line);
    pool.store(8, &[1; 11]);
    assert_eq!(pool.len(), 4096);
    assert_eq!(
        pool.bytes()[..24],
        [[9; 8], [1; 8], [1, 1, 1, 9, 9, 9, 9, 9]].concat()
    );
    let mut loaded = [0; 5];
    pool.load(16, &mut loaded);
    assert_eq!(loaded, [1, 1, 1, 9, 9]);
}

/// A memory that is used again holds nothing of what it held, and is as long as it says.
#[test]
fn nothing_is_seen_of_a_memory_that_was_dropped() {
    let old = Simulated::from_bytes(&[9; 8192], Granule::Line);
    let base = old.base();
    drop(old);
    let new = Simulated::from_bytes(&[1; 10], Granule::Line);
    assert_ne!(new.base(), base, "this one is shorter");
    let new = Simulated::from_bytes(&[1; 4097], Granule::Line);
    assert_eq!(new.base() == base, !cfg!(miri));
    assert_eq!(new.bytes(), [&[1; 4097][..], &[0; 4095]].concat());
    new.store_word(0, 2);
    new.flush(0, 8);
    new.grow(12288).unwrap();
    drop(new);
    let new = Simulated::new(8192, Granule::Line);
    assert_eq!(
        (new.bytes(), new.counts()),
        (vec![0; 8192], Counts::default())
    );
    assert_eq!(new.crash_images(9, 0).total(), 1);
}

#[test]
fn growing_moves_nothing_and_has_a_bound() {
    let pool = Simulated::new(4096, Granule::Line);
    let base = pool.base();
    pool.grow(100_000).unwrap();
    pool.grow(50_000).unwrap();
    assert_eq!((pool.len(), pool.base()), (102_400, base));
    pool.store_word(102_392, 1);
    let refused = pool.grow(pool.max_len() + 1).unwrap_err();
    assert_eq!(refused.cause(), crate::Cause::Full);
}

#[test]
#[should_panic(expected = "8 bytes at 4096 of a pool of 4096")]
fn outside_of_the_pool_nothing_is_stored() {
    Simulated::new(4096, Granule::Line).store_word(4096, 1);
}
