//! The file of `--learn`: what one run leaves for the next run of the same program.
//!
//! It is CSV with a row for each miss, in the order in which each thread made them: `process` and
//! `walk` are numbers from 0, a walk being a run of misses of one thread, and `page` is an address
//! divided by 4096. Addresses are those of a program whose memory is not laid out at random, as a
//! run with `--learn` starts it.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::output::Output;
use terrace_base::{Error, Result};
use terrace_policy::prefetch::Lesson;
use terrace_policy::{PAGE_BYTES, Page};

/// Processes, and walks of one process, that a file may number: more are no lesson of a run.
const MOST: usize = 1 << 20;

/// The names of the columns, in the first line.
const HEADER: [&str; 3] = ["process", "walk", "page"];

/// A row of the file.
#[derive(Serialize, Deserialize)]
struct Row {
    process: usize,
    walk: usize,
    page: u64,
}

/// The file, which need not be there before the first run.
#[derive(Clone, Debug)]
pub struct LessonFile(PathBuf);

impl LessonFile {
    /// Names the file.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Checks that the file is a lesson, or can become one.
    ///
    /// # Errors
    /// See [`Self::read`]; a usage error as well if there is no directory for the file.
    pub fn check(&self) -> Result<()> {
        let directory = self.0.parent().filter(|it| !it.as_os_str().is_empty());
        match directory {
            Some(directory) if !directory.is_dir() => Err(Error::usage(format!(
                "there is no directory for {}, which ‘learn’ names; make it, or name another file",
                self.0.display()
            ))),
            _ => self.read().map(drop),
        }
    }

    /// Reads what an earlier run left; nothing if there is no file.
    ///
    /// # Errors
    /// A usage error that names the line if the file is no lesson.
    pub fn read(&self) -> Result<Lesson> {
        let name = self.0.display();
        let foreign = |why: &dyn std::fmt::Display| {
            Error::usage(format!(
                "{name} was not written by a run with ‘learn’: {why}; name another file, which \
                 need not be there yet"
            ))
        };
        let cannot_read = |e| Error::usage(format!("cannot read {name}: {e}"));
        let file = match File::open(&self.0) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Lesson::default()),
            file => file.map_err(cannot_read)?,
        };
        if !file.metadata().map_err(cannot_read)?.is_file() {
            return Err(foreign(&"it is no regular file"));
        }
        let mut rows = csv::Reader::from_reader(file);
        match rows.headers() {
            Ok(found) if found.is_empty() => return Err(foreign(&"it is empty")),
            Ok(found) if *found == HEADER[..] => {}
            _ => return Err(foreign(&"its first line is not `process,walk,page`")),
        }
        let mut lesson = Lesson::default();
        for (row, line) in rows.deserialize().zip(2..) {
            let row: Row = row.map_err(|e| foreign(&e))?;
            if row.process.max(row.walk) >= MOST || row.page > u64::MAX / PAGE_BYTES {
                return Err(foreign(&format!(
                    "line {line} has a number that is too large"
                )));
            }
            lesson.push(row.process, row.walk, Page(row.page));
        }
        match lesson.misses() {
            0 => Err(foreign(&"it holds no misses")),
            _ => Ok(lesson),
        }
    }

    /// Leaves a lesson to the next run.
    ///
    /// # Errors
    /// A failure if the file cannot be written; the file is as it was then.
    pub fn write(&self, lesson: &Lesson) -> Result<()> {
        let cannot_write = |e: &dyn std::fmt::Display| {
            Error::failure(format!("cannot write {}: {e}", self.0.display()))
        };
        let mut rows = csv::Writer::from_writer(Vec::new());
        for (process, walks) in lesson.processes().iter().enumerate() {
            for (walk, pages) in walks.iter().enumerate() {
                for &Page(page) in pages {
                    let row = Row {
                        process,
                        walk,
                        page,
                    };
                    rows.serialize(row).map_err(|e| cannot_write(&e))?;
                }
            }
        }
        let bytes = rows.into_inner().map_err(|e| cannot_write(&e))?;
        Output::create(&self.0)?.finish(&bytes)
    }

    /// Leaves a lesson to the next run, unless most misses of this run were `foreseen`: what could
    /// be recorded of it is little then, and the file serves well. Returns a sentence about what
    /// was done.
    ///
    /// # Errors
    /// See [`Self::write`].
    pub fn leave(&self, lesson: &Lesson, foreseen: bool) -> Result<String> {
        let name = self.0.display();
        if lesson.misses() == 0 {
            return Ok(format!(
                "there were no misses to learn from; {name} stays as it is"
            ));
        }
        if foreseen {
            return Ok(format!(
                "most misses of this run were foreseen, so {name} stays as it is"
            ));
        }
        self.write(lesson)?;
        Ok(format!(
            "{name} holds {} misses of this run; the next one learns from them",
            lesson.misses()
        ))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(directory: &tempfile::TempDir) -> LessonFile {
        LessonFile::new(directory.path().join("lesson.csv"))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            walks in prop::collection::vec((0..3_usize, 0..4_usize, any::<u32>()), 1..50)
        ) {
            let mut lesson = Lesson::default();
            for (process, walk, page) in walks {
                lesson.push(process, walk, Page(page.into()));
            }
            let directory = tempfile::tempdir().unwrap();
            file(&directory).write(&lesson).unwrap();
            let read = file(&directory).read().unwrap();
            prop_assert_eq!(read.misses(), lesson.misses());
            let walks = |lesson: &Lesson| {
                let walks = lesson.processes().iter().flatten().cloned();
                walks.filter(|walk| !walk.is_empty()).collect::<Vec<_>>()
            };
            prop_assert_eq!(walks(&read), walks(&lesson));
        }
    }

    #[test]
    fn a_file_that_is_not_there_yet_teaches_nothing() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(file(&directory).read().unwrap(), Lesson::default());
    }

    #[test]
    fn what_is_no_lesson_is_refused_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let lesson = file(&directory);
        for (text, why) in [
            ("", "it is empty"),
            ("\n", "it is empty"),
            ("process,walk,page\n", "no misses"),
            ("a,b\n1,2\n", "its first line"),
            ("garbage", "its first line"),
            ("process,walk,page\n0,0,7\n0,0,x\n", "line: 3"),
            (
                "process,walk,page\n99999999999,0,7\n",
                "line 2 has a number",
            ),
            (
                "process,walk,page\n0,0,18446744073709551615\n",
                "line 2 has a number",
            ),
            ("process,walk,page\n\u{fffd}\n", "line: 2"),
        ] {
            std::fs::write(lesson.path(), text).unwrap();
            let error = lesson.check().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let error = LessonFile::new(directory.path().to_owned());
        let error = error.check().unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
        let error = LessonFile::new(directory.path().join("none/lesson"));
        let error = error.check().unwrap_err().to_string();
        assert!(error.contains("no directory for"), "{error}");
    }
}
