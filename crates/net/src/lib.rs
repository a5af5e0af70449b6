//! Sockets, epoll, TLS, affinity and /proc.
