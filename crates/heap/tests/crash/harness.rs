//! Runs a program on a simulated memory and looks, before each fence and after each operation, at
//! what a crash could leave there.
//!
//! Of each memory that is left, opened anew, must be true: every operation that returned is there;
//! the one that was under way is there wholly or not at all; every object in use is reached exactly
//! once, so nothing leaks and nothing is reached twice. The same holds if opening is itself
//! interrupted. And `check` finds nothing wrong with it as it is.
//!
//! A container is tested by implementing [`Subject`] for it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::thread;

use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{AllocatorKind, Medium, Options, use_lane};

use crate::common::{Memory, TestHeap, create, open, used};
pub use crate::oracle::random;

/// The heap under test.
pub type SimulatedHeap = TestHeap;

/// Bytes of a chunk, and lanes: with the smallest chunks there is hardly room for what is in doubt,
/// and much is settled to make room; with larger ones lanes work on for long.
const GEOMETRIES: [(u64, u16); 2] = [(4 << 10, 3), (16 << 10, 2)];

/// What is tested.
pub trait Subject: Sized {
    /// One operation.
    type Op: Clone + Debug + Send + 'static;
    /// All that can be seen of it.
    type State: Clone + PartialEq + Debug + Send + 'static;

    /// Makes it in a new heap, or finds it in an old one, which lies on this memory.
    fn open(heap: &SimulatedHeap, memory: &Memory) -> Self;
    /// Carries out an operation.
    fn apply(&mut self, op: &Self::Op);
    /// Same, where there may be no room: says whether it was carried out.
    fn attempt(&mut self, op: &Self::Op) -> bool {
        self.apply(op);
        true
    }
    /// Works a little on what a crash has left, which is in this state.
    fn go_on(&mut self, _state: Self::State) {}
    /// All that can be seen.
    fn state(&self) -> Self::State;
    /// The offset of each object as often as it is reached.
    fn objects(&self) -> Vec<u64>;
    /// The slow, obviously right twin: what an operation makes of a state.
    fn model(state: &mut Self::State, op: &Self::Op);
}

/// How thoroughly to look.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Bytes of the pool.
    pub pool: u64,
    /// The allocator of the pool.
    pub allocator: AllocatorKind,
    /// What a crash keeps or loses by itself.
    pub granule: Granule,
    /// Whether lines are written to a journal first, as on a plain file.
    pub journal: bool,
    /// Whether contents have checksums.
    pub checksums: bool,
    /// The most memories to look at in each place.
    pub images: u64,
    /// The most memories that an interrupted recovery of each leaves.
    pub again: u64,
    /// The seed of samples.
    pub seed: u64,
    /// Whether only a sample of the moments is looked at.
    pub sparse: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            pool: 64 << 10,
            allocator: AllocatorKind::Nvwa,
            granule: Granule::Line,
            journal: false,
            checksums: false,
            images: u64::MAX,
            again: 0,
            seed: 1,
            sparse: false,
        }
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looked {
    /// Memories.
    pub images: u64,
    /// Memories that an interrupted recovery left.
    pub again: u64,
    /// Whether all that a crash could leave was looked at.
    pub exhaustive: bool,
}

struct Context<S: Subject> {
    /// What can be seen after a crash now.
    allowed: Vec<S::State>,
    /// What is under way.
    under_way: String,
    looked: Looked,
    effort: Effort,
    /// How often there was something to look at.
    moments: u64,
}

/// Carries the operations out, each by the thread of a lane, and looks: in the first geometry as
/// thoroughly as is said, and again with checksums, in the others at a sample. Says what was looked
/// at in the first.
///
/// # Panics
///
/// If a crash could leave what must not be.
pub fn run<S: Subject + 'static>(ops: &[(usize, S::Op)], effort: Effort) -> Looked {
    let sample = Effort {
        images: effort.images.min(5),
        again: 0,
        sparse: true,
        ..effort
    };
    for geometry in &GEOMETRIES[1..] {
        run_in::<S>(ops, *geometry, sample);
    }
    // At every moment, as lines and words change together with their checks.
    let checked = Effort {
        checksums: true,
        images: effort.images.min(20),
        again: effort.again.min(1),
        ..effort
    };
    run_in_smallest::<S>(ops, checked);
    run_in_smallest::<S>(ops, effort)
}

/// Same as [`run`], in the first geometry alone: for sizes that are significant there.
pub fn run_in_smallest<S: Subject + 'static>(ops: &[(usize, S::Op)], effort: Effort) -> Looked {
    run_in::<S>(ops, GEOMETRIES[0], effort)
}

/// Same as [`run`], with given chunks and lanes; the pool has as many chunks as one of the effort's
/// bytes has in the first geometry.
pub fn run_in<S: Subject + 'static>(
    ops: &[(usize, S::Op)],
    (chunk, lanes): (u64, u16),
    effort: Effort,
) -> Looked {
    use_lane(0);
    let pool = Simulated::new(effort.pool * (chunk / GEOMETRIES[0].0), effort.granule);
    let pool = Arc::new(match effort.journal {
        true => pool.writing_pages(),
        false => pool,
    });
    let options = Options::default();
    let options = options
        .chunk_bytes(chunk)
        .lanes(lanes)
        .hash_seed(1)
        .checksums(effort.checksums);
    let options = options.allocator(effort.allocator);
    let heap = create(Arc::clone(&pool), &options);
    let mut subject = S::open(&heap, &pool);
    let mut state = subject.state();
    let context = Arc::new(Mutex::new(Context::<S> {
        allowed: vec![state.clone()],
        under_way: "nothing".to_owned(),
        looked: Looked {
            exhaustive: true,
            ..Looked::default()
        },
        effort,
        moments: 0,
    }));
    let at_fence = Arc::clone(&context);
    pool.at_fence(move |pool| {
        // The heap of a test that has failed is closed, too.
        if !thread::panicking() {
            look(pool, &mut at_fence.lock().unwrap());
        }
    });
    for (i, (lane, op)) in ops.iter().enumerate() {
        let before = state.clone();
        S::model(&mut state, op);
        {
            let mut context = context.lock().unwrap();
            context.allowed = vec![before, state.clone()];
            context.under_way = format!("operation {i} in lane {lane}, {op:?}");
        }
        use_lane(*lane);
        if !subject.attempt(op) {
            state = context.lock().unwrap().allowed.swap_remove(0);
        }
        assert_eq!(subject.state(), state, "{op:?} without a crash");
        let mut context = context.lock().unwrap();
        context.allowed = vec![state.clone()];
        context.under_way = format!("nothing after operation {i} in lane {lane}, {op:?}");
        look(&pool, &mut context);
    }
    context.lock().unwrap().under_way = "closing".to_owned();
    drop(subject);
    drop(heap);
    context.lock().unwrap().looked
}

/// Looks at what a crash could leave now.
fn look<S: Subject + 'static>(pool: &Simulated, context: &mut Context<S>) {
    let effort = context.effort;
    context.moments += 1;
    if effort.sparse && !context.moments.is_multiple_of(3) {
        return;
    }
    let images = pool.crash_images(effort.images, effort.seed);
    context.looked.exhaustive &= images.is_exhaustive();
    for image in images {
        context.looked.images += 1;
        let image = Arc::new(image);
        let again = Arc::new(Mutex::new(0));
        if effort.again > 0 {
            interrupt::<S>(&image, context, &again);
        }
        check(&image, context, "");
        context.looked.again += *again.lock().unwrap();
    }
}

/// Has the recovery of an image interrupted, too.
fn interrupt<S: Subject + 'static>(
    image: &Arc<Simulated>,
    context: &Context<S>,
    again: &Arc<Mutex<u64>>,
) {
    let inner = Context::<S> {
        allowed: context.allowed.clone(),
        under_way: context.under_way.clone(),
        looked: Looked::default(),
        effort: context.effort,
        moments: 0,
    };
    let count = Arc::clone(again);
    image.at_fence(move |image| {
        if thread::panicking() {
            return;
        }
        for left in image.crash_images(inner.effort.again, inner.effort.seed) {
            check(
                &Arc::new(left),
                &inner,
                " and a crash of the recovery from that",
            );
            *count.lock().unwrap() += 1;
        }
    });
}

fn check<S: Subject>(image: &Arc<Simulated>, context: &Context<S>, and: &str) {
    let when = format!("after a crash during {}{and}", context.under_way);
    // Of a large pool the copy takes longer than all else.
    if image.len() <= 96 << 10 || context.looked.images % 5 == 1 {
        let copy = Simulated::from_bytes(&image.bytes(), Granule::Line);
        let mut found = terrace_heap::check::check(copy);
        // These roots hold numbers.
        found.retain(|finding| !finding.what.contains("the root \"word"));
        assert_eq!(found, [], "{when}");
    }
    let heap = open(Arc::clone(image)).unwrap_or_else(|e| panic!("{when}: {e}"));
    let mut subject = S::open(&heap, image);
    let state = subject.state();
    assert!(
        context.allowed.contains(&state),
        "{when}: {state:?} is none of {:?}",
        context.allowed
    );
    check_objects(&heap, &subject, &when);
    // What it does now is no recovery any more.
    image.at_fence(|_| {});
    subject.go_on(state);
    check_objects(&heap, &subject, &when);
}

fn check_objects<S: Subject>(heap: &SimulatedHeap, subject: &S, when: &str) {
    let mut reached = subject.objects();
    reached.sort_unstable();
    assert_eq!(
        reached,
        used(heap),
        "{when}: what is reached is not what is used"
    );
}
