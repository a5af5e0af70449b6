//! Workers in threads and child processes, started together and merged exactly.
