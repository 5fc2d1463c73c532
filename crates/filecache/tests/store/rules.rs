//! What people ask of a store: pages that stay, and rules that it keeps for them.

use super::*;

/// Pages of a segment of the stores here.
const SEGMENT: u64 = 6;

/// Reads a file of so many pages once, as what the rules say, in a store of so many segments that
/// has another.
fn filled(segments: usize, pages: u64, rule: Rule) -> Run {
    let mut run = Run::new(1, segments);
    run.source = Source::new(2, 400);
    let mut kept = reading(&run.store, &run.source, 1).unwrap();
    kept.set_rule(rule);
    for page in 0..pages {
        run.store.put(&kept, page, &run.source.page(1, page));
        // A full segment refuses the page for which it is written.
        run.store.put(&kept, page, &run.source.page(1, page));
    }
    run
}

/// Returns how many of the pages are there, as far as is known without reading them.
fn there(run: &Run, inode: u64, pages: u64) -> u64 {
    let reading = reading(&run.store, &run.source, inode).unwrap();
    (0..pages)
        .filter(|page| run.store.contains(&reading, *page))
        .count() as u64
}

fn pass_by(run: &Run) {
    let mut other = reading(&run.store, &run.source, 0).unwrap();
    other.set_rule(Rule::Policy);
    for page in 0..400 {
        run.store.put(&other, page, &run.source.page(0, page));
    }
}

#[test]
fn pinned_pages_stay_unread_and_others_leave() {
    for (rule, stays) in [(Rule::Pinned, true), (Rule::Policy, false)] {
        let run = filled(10, 20, rule);
        pass_by(&run);
        assert_eq!(there(&run, 1, 20), if stays { 20 } else { 0 });
        assert_eq!(read(&run.store, &run.source, 1, 0, 20), [stays; 20]);
    }
}

#[test]
fn a_file_is_pinned_and_unpinned_when_its_pages_are_there() {
    let run = filled(10, 20, Rule::Policy);
    run.store.pin(identity(1), true);
    assert_eq!(run.store.held().pinned, 20);
    pass_by(&run);
    assert_eq!(there(&run, 1, 20), 20);
    run.store.pin(identity(1), false);
    assert_eq!(run.store.held().pinned, 0);
    pass_by(&run);
    assert_eq!(there(&run, 1, 20), 0);
}

#[test]
fn no_more_is_pinned_than_leaves_room_for_others() {
    let run = filled(8, 100, Rule::Pinned);
    let held = run.store.held();
    assert_eq!(held.room, 8 * SEGMENT);
    assert_eq!((held.pinned, held.most_pinned), (36, 36));
    let before = run.store.counts().admitted;
    pass_by(&run);
    assert!(run.store.counts().admitted >= before + 40);
    assert_eq!(run.store.held().pinned, 36);
    run.store.pin(identity(0), true);
    assert_eq!(run.store.held().pinned, 36);
}

#[test]
fn rules_of_people_are_kept_with_the_store() {
    let mut run = Run::new(1, 4);
    assert!(run.store.notes().unwrap().is_empty());
    run.read(1, 0, 4);
    run.store.flush();
    run.store.keep_notes(b"rules").unwrap();
    assert!(run.store.keep_notes(&[b'x'; 4096]).is_err());
    for _ in 0..2 {
        run.store = open(&run.medium);
        assert_eq!(run.store.notes().unwrap(), b"rules");
        assert_eq!(read(&run.store, &run.source, 1, 0, 4), [true; 4]);
    }
    run.store.clear().unwrap();
    assert_eq!(run.store.notes().unwrap(), b"rules");
    run.medium.damage(512 + 17);
    assert!(run.store.notes().is_err());
}
