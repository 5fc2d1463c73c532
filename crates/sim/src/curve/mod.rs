//! Miss-ratio curves: the misses of a replacement policy over the sizes of DRAM.
//!
//! LRU is a stack algorithm, and one pass over a trace tells its misses at every size
//! ([`terrace_trace::reuse`]). Other policies are simulated at each size that is asked for, on a
//! sample of the pages and with as large a share of DRAM: a *miniature simulation* (Waldspurger,
//! Saemundsson, Ahmad and Park, "Cache modeling and optimization using miniature simulations",
//! USENIX ATC 2017). At a rate of 1 the sample is all pages, and the misses are those of `sim
//! pages` without prefetching: exactly where the trace has one thread; otherwise that command
//! orders threads by its virtual time, and this one as the trace does.
//!
//! # The sample
//!
//! Pages are taken in the order of their first touch. Of each `1 / rate` neighbours in it one is
//! drawn by a hash (a stratified sample, so that it has that share of the pages exactly, and of
//! each part of the program), and all its touches are simulated. What is drawn is dealt out to
//! several samples that share no page. Each of them estimates the misses by its own, times the
//! pages for each page in it; the mean is the result, and their spread says how far it may be off:
//! its standard error is that of a mean of these values, times the root of the share of pages that
//! is not in a sample. This is no bound: what all samples have in common, as the few pages of a
//! miniature DRAM, does not show in their spread.

mod estimate;
mod front;
mod options;
mod outcome;
mod part;
mod run;
mod sample;
mod settings;
mod stack;
mod tape;

pub use front::CurveSimulation;
pub use outcome::{Curve, Curves, Point};
pub use run::Gathered;
pub use settings::{CurveSettings, Sizes, parse_rate};
