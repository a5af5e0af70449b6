package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	messageBytesMax = 16 << 20
	// queueLen is how far a reader may fall behind before a broadcast gives up on it.
	queueLen  = 256
	writeWait = 10 * time.Second
)

// A hub knows every open connection.
type hub struct {
	mu      sync.RWMutex
	clients map[*client]struct{}
	// serving counts the handlers of connections: net/http forgets those that it has handed over.
	serving sync.WaitGroup
}

type message struct {
	kind websocket.MessageType
	data []byte
}

// A client is one connection: a goroutine reads and answers it, another writes the broadcasts that are queued.
type client struct {
	conn  *websocket.Conn
	queue chan message
}

func newHub() *hub {
	return &hub{clients: make(map[*client]struct{})}
}

func (h *hub) handleUpgrade(w http.ResponseWriter, r *http.Request) {
	h.serving.Add(1)
	defer h.serving.Done()
	// A load generator is no browser and may send any Origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered with the status.
	}
	defer conn.CloseNow()
	conn.SetReadLimit(messageBytesMax)

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &client{conn: conn, queue: make(chan message, queueLen)}
	h.add(c)
	defer h.remove(c)
	go c.writeAll(ctx)
	h.readAll(ctx, c)
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

// readAll answers the client until it leaves or breaks the protocol; the library has sent the close frame by then.
func (h *hub) readAll(ctx context.Context, c *client) {
	for {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		if result, ok := broadcastResult(kind, data); ok {
			h.broadcast(message{kind, data})
			data = result
		}
		if c.write(ctx, message{kind, data}) != nil {
			return
		}
	}
}

// broadcast queues the message for everyone. A client whose queue is full is dropped rather than waited for.
func (h *hub) broadcast(m message) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for c := range h.clients {
		select {
		case c.queue <- m:
		default:
			go c.conn.Close(websocket.StatusPolicyViolation, "too slow")
		}
	}
}

// writeAll sends what is queued, until a write fails or the reader has ended.
func (c *client) writeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-c.queue:
			if c.write(ctx, m) != nil {
				return // The library has closed the connection, which ends the reader.
			}
		}
	}
}

func (c *client) write(ctx context.Context, m message) error {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	return c.conn.Write(ctx, m.kind, m.data)
}

// closeAll says goodbye to every client and waits for them to leave, at most until the context ends.
func (h *hub) closeAll(ctx context.Context) {
	for _, c := range h.snapshot() {
		go c.conn.Close(websocket.StatusGoingAway, "")
	}
	left := make(chan struct{})
	go func() {
		h.serving.Wait()
		close(left)
	}()
	select {
	case <-ctx.Done():
	case <-left:
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
