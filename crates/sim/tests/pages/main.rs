//! The page simulator: worked examples, a slow twin, and laws that hold for every machine.

mod bandwidth;
mod bypass;
mod control;
mod counting;
mod curve;
mod discards;
mod examples;
mod initial;
mod laws;
mod machine;
mod mapped;
mod middle;
mod naive;
mod oracle;
mod threads;
mod twin;
mod write_backs;
mod writes;
mod zeros;
