package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gobwas/ws"
)

// A hub knows every open connection.
type hub struct {
	mu      sync.RWMutex
	clients map[*client]struct{}
}

func newHub() *hub {
	return &hub{clients: make(map[*client]struct{})}
}

func (h *hub) handleUpgrade(w http.ResponseWriter, r *http.Request) {
	conn, buffered, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		return // UpgradeHTTP has answered with the status.
	}
	c := newClient(conn, buffered.Reader)
	h.add(c)
	go c.writeAll()
	// A goroutine of its own, so that the request and its buffer to write are not kept.
	go func() {
		h.readAll(c)
		h.remove(c)
		close(c.done)
	}()
}

func (h *hub) add(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients[c] = struct{}{}
}

func (h *hub) remove(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
}

// readAll answers the client until it leaves or breaks the protocol.
func (h *hub) readAll(c *client) {
	defer c.conn.Close()
	for {
		opcode, data, err := c.read()
		if err != nil {
			c.sayWhy(err)
			return
		}
		answer := data
		if result, ok := broadcastResult(opcode, data); ok {
			h.broadcast(frame(opcode, data))
			answer = result
		}
		if _, err := c.Write(frame(opcode, answer)); err != nil {
			return
		}
	}
}

// frame returns the bytes of the frame, which may be sent to any number of clients.
func frame(opcode ws.OpCode, data []byte) []byte {
	return ws.MustCompileFrame(ws.NewFrame(opcode, true, data)) // Fails only if a control frame is too long.
}

// broadcast queues the frame for everyone. A client whose queue is full is dropped rather than waited for.
func (h *hub) broadcast(frame []byte) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for c := range h.clients {
		select {
		case c.queue <- frame:
		default:
			c.conn.Close()
		}
	}
}

// closeAll sends every client a close frame and waits for them to leave, at most until the context ends.
func (h *hub) closeAll(ctx context.Context) {
	goodbye := closeFrame(ws.StatusGoingAway)
	for _, c := range h.snapshot() {
		go c.Write(goodbye) // Who does not read keeps nobody else waiting.
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(h.snapshot()) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *hub) snapshot() []*client {
	h.mu.RLock()
	defer h.mu.RUnlock()
	clients := make([]*client, 0, len(h.clients))
	for c := range h.clients {
		clients = append(clients, c)
	}
	return clients
}
