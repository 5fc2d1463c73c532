//! Predictors against general laws and slow twins.

mod laws;
mod slow;
mod steps;
mod twins;
