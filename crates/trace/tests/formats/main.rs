//! The formats of others: what they say is read, what is written is read, what is damaged is
//! named.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod detection;
mod examples;
mod pairs;
mod reading;
mod writing;
