// Command server has event streams on Go's net/http.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	events = 100
	gap    = 10 * time.Millisecond
	// queueLen is how far a reader may fall behind before publishers wait for it.
	queueLen = 256
)

// A hub has the streams of each room.
type hub struct {
	mu    sync.RWMutex
	rooms map[string]map[chan []byte]struct{}
}

func main() {
	h := &hub{rooms: make(map[string]map[chan []byte]struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /events", h.listen)
	mux.HandleFunc("POST /publish/{room}", h.publish)
	mux.HandleFunc("GET /stream", stream)
	address := net.JoinHostPort(env("HOST", "127.0.0.1"), env("PORT", "3334"))
	go func() { log.Fatal(http.ListenAndServe(address, mux)) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}

func open(w http.ResponseWriter) *http.ResponseController {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return http.NewResponseController(w)
}

// listen writes to one client what is published in its room, until it leaves.
func (h *hub) listen(w http.ResponseWriter, r *http.Request) {
	queue, room := make(chan []byte, queueLen), r.URL.Query().Get("room")
	// Before the head goes out: a client that is connected hears all that is published.
	h.add(room, queue)
	defer h.remove(room, queue)
	control := open(w)
	control.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-queue:
			w.Write(event)
			if control.Flush() != nil {
				return
			}
		}
	}
}

func (h *hub) add(room string, queue chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rooms[room] == nil {
		h.rooms[room] = make(map[chan []byte]struct{})
	}
	h.rooms[room][queue] = struct{}{}
}

func (h *hub) remove(room string, queue chan []byte) {
	// A publisher may wait for this queue with the lock in its hands.
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-queue:
			case <-done:
				return
			}
		}
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.rooms[room], queue)
	close(done)
}

// publish tells everyone in a room the body.
func (h *hub) publish(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	event := fmt.Appendf(nil, "data: %s\n\n", body)
	h.mu.RLock()
	defer h.mu.RUnlock()
	for queue := range h.rooms[r.PathValue("room")] {
		queue <- event
	}
	w.WriteHeader(http.StatusNoContent)
}

// stream is an answer of several events, each when it is due.
func stream(w http.ResponseWriter, _ *http.Request) {
	control := open(w)
	start := time.Now()
	for n := range events {
		time.Sleep(time.Until(start.Add(time.Duration(n) * gap)))
		fmt.Fprintf(w, "data: {\"n\":%d}\n\n", n)
		if control.Flush() != nil {
			return
		}
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
