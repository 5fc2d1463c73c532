//! Placement files: which allocation sites of a program have their objects in fast memory.
//!
//! A file of TOML that people may read and change:
//!
//! ```toml
//! placement = 1                    # the version of this layout
//! program = "lulesh2.0"            # the name of the program's file, for people
//! fast_bytes = 4194304             # the fast memory that the sites need together
//!
//! [[site]]                         # in the order in which they are put into fast memory
//! name = "Allocate (lulesh.h:141)" # for people
//! bytes = 4194304                  # the most that its objects had at a time
//! calls = ["lulesh2.0!Allocate (lulesh.h:141)", "lulesh2.0!main (lulesh.cc:2701)"]
//! ```
//!
//! A site is found again by `calls`, the innermost first. They have no addresses, which differ from
//! run to run, and no build identifiers, which differ from build to build: a call is named by the
//! file of the program or library without its folder, function, source file without its folder, and
//! line. So a file holds for any build of the same source with debug symbols, whatever the compiler
//! inlines. Without lines a call is a function and a distance from its beginning, and without
//! symbols a distance from the file's beginning: then it holds for builds whose code is the same.
//! Calls in the libraries of languages are left out, as they are the machine's and not the
//! program's.

use std::path::Path;

use serde::{Deserialize, Serialize};
use terrace_base::{Context, Error, Result};
use terrace_trace::allocation::Site;

use super::profile::Profile;

/// The version of the layout.
const VERSION: u32 = 1;

/// A placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementFile {
    /// [`VERSION`].
    placement: u32,
    /// The name of the program's file.
    pub program: String,
    /// The fast memory that the sites need together, in bytes.
    pub fast_bytes: u64,
    /// The sites in fast memory.
    #[serde(default, rename = "site")]
    pub sites: Vec<PlacedSite>,
}

/// A site in fast memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedSite {
    /// The name for people.
    pub name: String,
    /// The most bytes that its objects had at a time.
    pub bytes: u64,
    /// The calls that name it ([`Site::names`](terrace_trace::allocation::Site::names)).
    pub calls: Vec<String>,
}

impl PlacementFile {
    /// Returns the file that puts these sites of a program into fast memory.
    pub fn of(profile: &Profile, program: &str, sites: &[usize]) -> Self {
        let sites = sites.iter().map(|site| &profile.sites[*site]);
        Self {
            placement: VERSION,
            program: program.to_owned(),
            fast_bytes: (sites.clone()).fold(0, |sum, site| sum.saturating_add(site.bytes)),
            sites: sites
                .map(|site| PlacedSite {
                    name: site.site.to_string(),
                    bytes: site.bytes,
                    calls: site.site.names(),
                })
                .collect(),
        }
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        // Texts and numbers are always TOML.
        let text = toml::to_string(self).unwrap_or_default();
        format!(
            "# Made by terrace place: the allocation sites whose objects are in fast memory.\n{text}"
        )
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A failure where it cannot be read; a usage error where it is no placement file.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        let bytes = std::fs::read(path);
        let bytes = bytes.or_fail(|| format!("cannot read the placement file `{name}`"))?;
        let wrong = |why: String| Error::usage(format!("`{name}` is no placement file: {why}"));
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is no text".to_owned()))?;
        let file: Self = toml::from_str(&text).map_err(|error| wrong(at_line(&text, &error)))?;
        match file.placement {
            VERSION => Ok(file),
            other => Err(wrong(format!(
                "it has version {other} of the layout; this program reads version {VERSION}"
            ))),
        }
    }

    /// Returns the sites of a program that the file names, and the names of those that the program
    /// does not have.
    ///
    /// # Errors
    /// A usage error where the program has none of them: the file is that of another program.
    pub fn find<'a>(
        &self,
        sites: impl Iterator<Item = &'a Site>,
        program: &str,
    ) -> Result<(Vec<usize>, Vec<&str>)> {
        let names: Vec<Vec<String>> = sites.map(Site::names).collect();
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for site in &self.sites {
            match names.iter().position(|names| *names == site.calls) {
                Some(place) if found.contains(&place) => {}
                Some(place) => found.push(place),
                None => missing.push(site.name.as_str()),
            }
        }
        if found.is_empty() && !self.sites.is_empty() {
            return Err(Error::usage(format!(
                "the placement is that of another program: {program} allocates at none of its sites, of which the \
                 first is {} of {}",
                self.sites[0].name, self.program
            )));
        }
        Ok((found, missing))
    }
}

/// Returns an error with the line where it is.
fn at_line(text: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    match error.span() {
        Some(span) => {
            let before = text.get(..span.start).unwrap_or_default();
            format!("line {}: {message}", before.lines().count().max(1))
        }
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::SiteProfile;
    use super::*;
    use terrace_trace::allocation::{Call, Function};

    fn profile(module: &str, base: u64, lines: &[u32]) -> Profile {
        let site = |line: &u32| SiteProfile {
            site: Site {
                stack: vec![Call {
                    module: format!("/any/where/{base}/{module}"),
                    offset: base + u64::from(*line),
                    functions: vec![Function {
                        name: "fill".to_owned(),
                        file: Some(format!("/src/{base}/fill.c")),
                        line: Some(*line),
                        ..Function::default()
                    }],
                }],
            },
            bytes: 100,
            ..SiteProfile::default()
        };
        Profile {
            sites: lines.iter().map(site).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn a_file_holds_for_other_builds_and_not_for_other_programs() {
        let made = PlacementFile::of(&profile("p", 0x1000, &[3, 5, 9]), "p", &[2, 0]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.toml");
        std::fs::write(&path, made.text()).unwrap();
        let read = PlacementFile::load(&path).unwrap();
        assert_eq!(read, made);
        let find = |profile: &Profile, program: &str| {
            let found = read.find(profile.sites.iter().map(|site| &site.site), program);
            found.map(|(found, missing)| (found, missing.join(" ")))
        };
        let rebuilt = profile("p", 0x2000, &[9, 5, 3]);
        assert_eq!(find(&rebuilt, "p").unwrap(), (vec![0, 2], String::new()));
        let changed = profile("p", 0x3000, &[3, 6]);
        assert_eq!(
            find(&changed, "p").unwrap(),
            (vec![0], "fill (fill.c:9)".to_owned())
        );
        let error = find(&profile("q", 0x1000, &[3, 5, 9]), "q").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("that of another program: q allocates at none"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_placement_file_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.toml");
        for (text, why) in [
            ("", "missing field"),
            (
                "placement = 9\nprogram = \"p\"\nfast_bytes = 1\n",
                "version 9 of the layout",
            ),
            ("placement = 1\nprogram = 5\n", "line 2"),
            (
                "placement = 1\nprogram = \"p\"\nfast_bytes = 1\nspeed = 3\n",
                "unknown field",
            ),
            ("\u{0}", "line 1"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = PlacementFile::load(&path).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
