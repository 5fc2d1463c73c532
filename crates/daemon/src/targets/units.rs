//! Other names of units: links, as `systemctl enable` makes them of `Alias=`.

use std::fs;
use std::path::{Path, PathBuf};

/// Where systemd looks for units, the first one that has a name counts (systemd.unit(5)).
const DIRECTORIES: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// Links that lead to each other, at most.
const LONGEST: usize = 8;

/// The directories of units.
pub(super) struct Units(Vec<PathBuf>);

impl Default for Units {
    fn default() -> Self {
        Self(DIRECTORIES.iter().map(PathBuf::from).collect())
    }
}

impl Units {
    /// Returns the own name of a unit of which this is another name; `None` if it is none. One that
    /// is masked is a link to `/dev/null`, and has no group.
    pub fn own_name(&self, alias: &str) -> Option<String> {
        let mut name = alias.to_owned();
        for _ in 0..LONGEST {
            match self.link(&name) {
                Some(other) => name = other,
                None => break,
            }
        }
        (name != alias).then_some(name)
    }

    /// Returns the name that the file of a unit links to, if it is another one.
    fn link(&self, name: &str) -> Option<String> {
        let files = self.0.iter().map(|directory| directory.join(name));
        let file = files.into_iter().find(|file| exists(file))?;
        let other = fs::read_link(file).ok()?;
        let other = other.file_name()?.to_str()?.to_owned();
        (other != name).then_some(other)
    }
}

fn exists(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_the_own_name() {
        let root = tempfile::tempdir().unwrap();
        let [etc, lib] = ["etc", "lib"].map(|name| root.path().join(name));
        fs::create_dir(&etc).unwrap();
        fs::create_dir(&lib).unwrap();
        for unit in ["redis-server.service", "db.service", "cache.service"] {
            fs::write(lib.join(unit), "").unwrap();
        }
        let link = |to: &str, name: &str| symlink(to, etc.join(name)).unwrap();
        link("/lib/redis-server.service", "redis.service");
        link("redis.service", "store.service");
        // A unit that is linked from elsewhere keeps its name; one that is written anew has it too.
        link("/opt/app.service", "app.service");
        fs::write(etc.join("cache.service"), "").unwrap();
        fs::remove_file(lib.join("cache.service")).unwrap();
        symlink("db.service", lib.join("cache.service")).unwrap();
        link("a.service", "b.service");
        link("b.service", "a.service");
        let units = Units(vec![etc, lib]);
        for (name, own) in [
            ("redis.service", Some("redis-server.service")),
            ("store.service", Some("redis-server.service")),
            ("redis-server.service", None),
            ("app.service", None),
            ("cache.service", None),
            ("no.service", None),
            ("a.service", None),
        ] {
            assert_eq!(units.own_name(name).as_deref(), own, "{name}");
        }
    }
}
