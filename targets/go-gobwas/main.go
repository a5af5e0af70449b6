// Command server is an echo and broadcast server on github.com/gobwas/ws.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const shutdownGrace = time.Second

func main() {
	address := net.JoinHostPort(env("HOST", "127.0.0.1"), env("PORT", "3334"))
	if err := serve(address); err != nil {
		log.Fatal(err)
	}
}

// serve runs until SIGTERM or SIGINT, then says goodbye to every client.
func serve(address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	hub := newHub()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /ws", hub.handleUpgrade)
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}

	failed := make(chan error, 1)
	go func() { failed <- listenAndServe(server) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}

	// Shutdown does not know the upgraded connections: the hub closes those.
	deadline, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	err := server.Shutdown(deadline)
	hub.closeAll(deadline)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// listenAndServe speaks TLS if it has a certificate.
func listenAndServe(server *http.Server) error {
	if certificate := os.Getenv("TLS_CERT"); certificate != "" {
		return server.ListenAndServeTLS(certificate, os.Getenv("TLS_KEY"))
	}
	return server.ListenAndServe()
}

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
