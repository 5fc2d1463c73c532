//! Replacement policies against slow twins, general laws, and another simulator's figures.

mod cloud_physics;
mod laws;
mod optimum;
mod slow;
mod steps;
mod twins;
