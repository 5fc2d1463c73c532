//! Page cache, flash and disk: against a slow twin, by laws, and by the bars of budgets and scans.

mod bars;
mod laws;
mod naive;
mod replay;
mod twin;
