//! What a memory is: technologies, timing, energy, wear and lifetime.
