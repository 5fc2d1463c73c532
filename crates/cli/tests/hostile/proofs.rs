//! Proofs that each judgement can fail: what came of a case, altered in one place.

use libtest_mimic::{Failed, Trial};

use crate::case::{Case, case};
use crate::judge::{Observed, complaints, files};

/// A case that fails as it must, with a file of others beside it.
fn refused() -> Case {
    case("refused", "run").usage("--dram is missing")
}

fn clean() -> Observed {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("other"), "of others").unwrap();
    let seen = files(place.path());
    Observed {
        code: Some(2),
        stderr: "terrace: --dram is missing\n".into(),
        before: seen.clone(),
        after: seen,
        ..Observed::default()
    }
}

type Alter = fn(&mut Case, &mut Observed);

/// What is altered, how, and what the judgement must say then.
const ALTERED: [(&str, Alter, &str); 18] = [
    (
        "code",
        |_, o| o.code = Some(1),
        "it ends with 1 instead of 2",
    ),
    ("signal", |_, o| o.code = None, "it ends with a signal"),
    ("hang", |_, o| o.hung = true, "it hangs"),
    ("silence", |_, o| o.stderr.clear(), "without a word"),
    (
        "speaker",
        |_, o| o.stderr = "--dram is missing\n".into(),
        "does not start with",
    ),
    (
        "speaker_twice",
        |_, o| o.stderr = "terrace: terrace: --dram is missing\n".into(),
        "twice who speaks",
    ),
    ("lines", |_, o| o.stderr.push_str("more\n"), "2 lines"),
    (
        "success_with_lines",
        |c, o| {
            (c.codes, o.code) = (vec![0], Some(0));
            o.stderr.push_str("terrace: more\n");
        },
        "2 lines",
    ),
    (
        "words",
        |_, o| o.stderr = "terrace: something is wrong\n".into(),
        "does not say «--dram is missing»",
    ),
    (
        "panic",
        |_, o| o.stderr = "terrace: --dram is missing: thread panicked\n".into(),
        "«panicked»",
    ),
    (
        "raw_word",
        |_, o| o.stderr = "terrace: --dram is missing (os error 2)\n".into(),
        "«(os error»",
    ),
    ("word", |c, _| c.is_silent = true, "it says something"),
    (
        "print",
        |c, _| c.prints.push("a table".into()),
        "does not print «a table»",
    ),
    ("gone", |_, o| o.after.clear(), "other is gone"),
    (
        "changed",
        |_, o| o.after = altered_file("owned now"),
        "other was changed",
    ),
    ("new", |_, o| o.before.clear(), "other is new"),
    (
        "missing",
        |c, _| c.leaves.push("result".into()),
        "result is missing",
    ),
    (
        "left",
        |_, o| o.outlive.push("process 7".into()),
        "process 7 is left",
    ),
];

/// The file of others, of the same size, with something else in it.
fn altered_file(content: &str) -> crate::judge::Files {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("other"), content).unwrap();
    files(place.path())
}

pub fn all() -> Vec<Trial> {
    let unaltered = Trial::test("proofs::clean", || expect(&[], &refused(), &clean()));
    let altered = ALTERED.into_iter().map(|(name, alter, words)| {
        Trial::test(format!("proofs::{name}"), move || {
            let (mut case, mut observed) = (refused(), clean());
            alter(&mut case, &mut observed);
            expect(&[words], &case, &observed)
        })
    });
    std::iter::once(unaltered).chain(altered).collect()
}

fn expect(words: &[&str], case: &Case, observed: &Observed) -> Result<(), Failed> {
    let found = complaints(case, observed);
    let told = words.iter().all(|w| found.iter().any(|f| f.contains(w)));
    if told && found.is_empty() == words.is_empty() {
        return Ok(());
    }
    Err(format!("{words:?} expected, {found:?} found").into())
}
