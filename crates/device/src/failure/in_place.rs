//! Failure of lines that keep their places.

use super::Limit;

/// Returns the runs until the memory fails, given the cells that a run programs of each line;
/// `None` if nothing is written, or nothing is endured.
pub(crate) fn in_place(of_run: &[u32], limit: Limit) -> Option<f64> {
    let all = of_run.iter().map(|cells| f64::from(*cells)).sum();
    let cells = |cells: &u32, runs: f64| f64::from(*cells) * runs;
    super::runs(limit, of_run.to_vec(), all, cells)
}
