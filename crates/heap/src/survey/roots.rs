//! Roots.

use std::collections::HashMap;

use super::Report;
use crate::error::Result;
use crate::layout::root::{ROOT_BYTES, Root};
use crate::medium::Medium;
use crate::pool::Pool;

/// Returns the offsets of the roots of a chunk.
pub(crate) fn places<M: Medium>(
    pool: &Pool<M>,
    chunk: u64,
) -> impl DoubleEndedIterator<Item = u64> + use<M> {
    let geometry = &pool.geometry;
    let first = geometry.offset_of(chunk);
    (0..geometry.chunk_bytes() / ROOT_BYTES).map(move |i| first + i * ROOT_BYTES)
}

/// Reads the roots in these chunks: the offset of each, and the root if there is one. A root that was not
/// completed is none, because it has never pointed to anything; nor is a removed one, which was null.
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
    for at in chunks.iter().flat_map(|&chunk| places(pool, chunk)) {
        let words = pool.load_words(at);
        let root = Root::decode(at, &words);
        match &root {
            None if words[0] != 0 => {
                report.wrong(at, "the root is damaged".into())?;
                continue;
            }
            None => {}
            Some(root) => {
                if let Some(other) = names.insert(root.name.clone(), at) {
                    let name = &root.name;
                    let what = format!("the root {name:?} is there twice, at {other} as well");
                    report.wrong(at, what)?;
                }
            }
        }
        roots.push((at, root));
    }
    Ok(roots)
}
