//! Names, attributes and directories, kept for a time.

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn names_are_kept_for_as_long_as_is_said() {
    for (attributes, is_kept) in [(Duration::ZERO, false), (Duration::from_secs(3600), true)] {
        let place = Place::new();
        let (above, below) = (place.mounted(), place.source());
        fs::write(below.join("a"), b"a").unwrap();
        settle();
        let settings = Settings {
            attributes,
            ..place.settings()
        };
        let _mount = Mount::start(&settings).unwrap();
        let mode = || fs::metadata(above.join("a")).unwrap().mode() & 0o777;
        let before = mode();
        // The kernel keeps a directory from its second listing on.
        for _ in 0..2 {
            assert_eq!(names(&above), ["a"]);
        }
        assert!(!above.join("b").exists());
        fs::set_permissions(below.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(below.join("b"), b"b").unwrap();
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(mode() == before, is_kept);
        assert_eq!(names(&above) == ["a"], is_kept);
        assert_eq!(!above.join("b").exists(), is_kept);
        // What is changed through the mount is seen at once.
        fs::write(above.join("c"), b"c").unwrap();
        fs::set_permissions(above.join("a"), fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!((mode(), names(&above).len()), (0o640, 3));
        fs::rename(above.join("c"), above.join("d")).unwrap();
        assert!(!above.join("c").exists() && above.join("d").exists());
        fs::remove_file(above.join("d")).unwrap();
        assert_eq!(names(&above), ["a", "b"]);
        assert!(!above.join("d").exists());
    }
}

/// With their attributes, of which fewer fit into a reply.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn many_entries_with_attributes_are_listed_once() {
    let place = Place::new();
    for name in 0..3000 {
        let name = format!("a-rather-long-name-{name}");
        fs::write(place.source().join(&name), &name).unwrap();
    }
    let settings = Settings {
        attributes: Duration::from_secs(3600),
        ..place.settings()
    };
    let _mount = Mount::start(&settings).unwrap();
    for _ in 0..2 {
        let listed = names(&place.mounted());
        let distinct: std::collections::BTreeSet<_> = listed.iter().collect();
        assert_eq!((listed.len(), distinct.len()), (3000, 3000));
        for name in &listed {
            let about = fs::metadata(place.mounted().join(name)).unwrap();
            assert_eq!(about.len(), name.len() as u64);
        }
    }
}
