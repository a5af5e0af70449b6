//! The plan and the pacers: what each client does, and when.
