//! Roots.

use std::collections::HashMap;

use super::Report;
use crate::error::Result;
use crate::layout::root::{ROOT_BYTES, Root, bound};
use crate::medium::Medium;
use crate::pool::Pool;

/// Reads the roots in these chunks: the offset of each, and the root if there is one. A root that
/// was not completed is none, because it has never pointed to anything; nor is a removed one, which
/// was null. Where contents have checksums, neither has a check.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn read<M: Medium>(
    pool: &Pool<M>,
    chunks: &[u64],
    report: &impl Report,
) -> Result<Vec<(u64, Option<Root>)>> {
    let mut names = HashMap::new();
    let mut roots = Vec::new();
    let places = |&chunk: &u64| pool.geometry.places(chunk, ROOT_BYTES);
    for at in chunks.iter().flat_map(places) {
        let words = pool.load_words(at);
        // The upper half of the check may be that of a pointer which an operation has changed, that
        // is yet to be repeated.
        let whole = pool.geometry.checksums || words[15] == bound(at, &words, 0);
        let root = Root::decode(at, &words).filter(|_| whole);
        let said = words[0] != 0 || pool.geometry.checksums && words[15] != 0;
        if root.is_none() && said {
            report.wrong(at, "the root is damaged".into())?;
            continue;
        }
        if let Some(Root { name, .. }) = &root
            && let Some(other) = names.insert(name.clone(), at)
        {
            let what = format!("the root {name:?} is there twice, at {other} as well");
            report.wrong(at, what)?;
        }
        roots.push((at, root));
    }
    Ok(roots)
}
