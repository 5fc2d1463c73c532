//! Control policies against slow twins and general laws, and on services of a model.

mod laws;
mod looks;
mod service;
mod services;
mod slow;
mod twins;
