//! `replay` on whole programs, over a memory that is obviously right.

mod model;

use model::Model;
use terrace_policy::prefetch::{LifeStory, Params, Spec, replay::Replay};

const PAGES: u64 = 2048;
const DRAM: usize = 1024;
const PAGE: u64 = 4096;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Returns the addresses of the nodes of a list, `in_page` nodes to a page, in random order.
fn list(in_page: u64) -> Vec<u64> {
    let mut state = 88_172_645_463_325_252;
    let mut nodes: Vec<u64> = (0..PAGES * in_page)
        .map(|node| node * PAGE / in_page)
        .collect();
    for last in (1..nodes.len()).rev() {
        nodes.swap(last, random(&mut state) as usize % (last + 1));
    }
    nodes
}

/// Runs one thread over `addresses`; returns the faults and the life story.
fn run(addresses: impl Iterator<Item = u64>) -> (u64, LifeStory) {
    let replay = Replay::new(&mut Params::default()).unwrap();
    let mut model = Model::new(Box::new(replay), DRAM, 4);
    model.populate(0..PAGES);
    addresses.for_each(|address| model.access(1, address));
    (model.faults, model.finish())
}

#[test]
fn a_list_that_is_walked_again_faults_in_the_first_walk_alone() {
    let list = list(1);
    let (faults, story) = run((0..5).flat_map(|_| list.iter().copied()));
    assert!(faults < PAGES * 11 / 10, "{faults} faults");
    assert!(story.wasted < PAGES / 20, "{story:?}");
}

#[test]
fn several_nodes_in_a_page_are_told_apart() {
    let list = list(4);
    let nodes = list.len() as u64;
    let (faults, story) = run((0..5).flat_map(|_| list.iter().copied()));
    assert!(faults < nodes, "{faults} faults of {nodes} nodes");
    assert!(story.wasted * 20 < story.used, "{story:?}");
}

#[test]
fn a_random_walk_is_left_alone() {
    let mut state = 88_172_645_463_325_252;
    let (faults, story) = run((0..20_000).map(|_| random(&mut state) % (PAGES * PAGE)));
    assert!(
        story.issued * 20 < faults,
        "{} fetched for {faults} faults",
        story.issued
    );
}

#[test]
fn a_list_whose_order_has_changed_is_learnt_anew() {
    let (one, other) = (list(1), list(1).into_iter().rev().collect::<Vec<_>>());
    let walks = [&one, &one, &other, &other, &other];
    let (faults, story) = run(walks.into_iter().flatten().copied());
    assert!(faults < PAGES * 23 / 10, "{faults} faults");
    assert!(story.wasted < PAGES / 10, "{story:?}");
}

/// `auto` learns it in its shadow, and lets it fetch once it has proved right.
#[test]
fn auto_finds_that_a_list_is_walked_again() {
    let list = list(1);
    let auto = Spec::parse("auto").unwrap().engine(None).unwrap();
    let mut model = Model::of(auto, DRAM, 4);
    model.populate(0..PAGES);
    let walks = (0..8).flat_map(|_| list.iter().copied());
    walks.for_each(|address| model.access(1, address));
    let faults = model.faults;
    let story = model.finish();
    assert!(faults < 4 * PAGES, "{faults} faults");
    // The waste is that of `stream`, which leads.
    assert!(story.wasted * 2 < story.used, "{story:?}");
}
