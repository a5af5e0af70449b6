//! The results model and its versioned file format.
