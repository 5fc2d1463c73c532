//! The plug-in for `qemu-user` that records what a program does to its memory.
