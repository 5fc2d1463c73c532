//! Migration policies against slow twins and general laws.

mod calls;
mod laws;
mod slow;
mod twins;
