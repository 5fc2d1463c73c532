//! Programs over several containers, and what says whether the state that a crash has left is
//! right: a model for a thread alone (`mix`), a search for an order for several (`history`).
//!
//! None of it looks into the heap. The same programs run on a simulated medium (`crash`) and in
//! processes that are killed or lose their file system (`killed`).

pub mod containers;
pub mod history;
pub mod mix;
pub mod registers;

/// Numbers below the bound that each call names, the same ones for the same seed.
pub fn random(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |bound| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % bound
    }
}
