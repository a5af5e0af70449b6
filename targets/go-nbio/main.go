// Command server is an echo and broadcast server on github.com/lesismal/nbio.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
)

const (
	shutdownGrace = 900 * time.Millisecond
	clientsMax    = 1 << 20
)

func main() {
	logging.SetLevel(logging.LevelError)
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
	engine := nbhttp.NewEngine(nbhttp.Config{
		Network:                 "tcp",
		Addrs:                   []string{address},
		MaxLoad:                 clientsMax,
		MaxWriteBufferSize:      queueBytesMax,
		ReleaseWebsocketPayload: true,
		Handler:                 mux,
	})
	if err := engine.Start(); err != nil {
		return err
	}
	<-ctx.Done()

	deadline, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	hub.closeAll(deadline)
	return nil // Who has not left by then is dropped with the process.
}

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
