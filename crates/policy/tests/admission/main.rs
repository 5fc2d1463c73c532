//! Admission policies against slow twins and general laws, and on loads of files.

mod calls;
mod laws;
mod loads;
mod slow;
mod twins;
