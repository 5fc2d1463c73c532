//! Page cache, flash and disk: against a slow twin, by laws, and by the bars of budgets,
//! scans and read-ahead.

mod ahead;
mod bars;
mod laws;
mod naive;
mod replay;
mod twin;
