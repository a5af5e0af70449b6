package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	messageBytesMax = 16 << 20
	bufferBytes     = 4096
	// queueLen is how far a reader may fall behind before a broadcast gives up on it.
	queueLen  = 256
	writeWait = 10 * time.Second
)

// A hub knows every open connection.
type hub struct {
	upgrader websocket.Upgrader

	mu      sync.RWMutex
	clients map[*client]struct{}
}

// A write is one message on its way out.
type write func(*websocket.Conn) error

// A client is one connection: a goroutine reads it, another does the writes that are queued.
type client struct {
	conn  *websocket.Conn
	queue chan write
	// done ends the writer; the queue itself is never closed, since others may be sending to it.
	done chan struct{}
}

func newHub() *hub {
	return &hub{
		clients: make(map[*client]struct{}),
		upgrader: websocket.Upgrader{
			ReadBufferSize:  bufferBytes,
			WriteBufferSize: bufferBytes,
			// An idle connection then holds no write buffer.
			WriteBufferPool: &sync.Pool{},
			// A load generator is no browser and may send any Origin.
			CheckOrigin: func(*http.Request) bool { return true },
		},
	}
}

func (h *hub) handleUpgrade(w http.ResponseWriter, r *http.Request) {
	conn, err := h.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered with the status.
	}
	conn.SetReadLimit(messageBytesMax)
	c := &client{
		conn:  conn,
		queue: make(chan write, queueLen),
		done:  make(chan struct{}),
	}
	h.add(c)
	go c.writeAll()
	h.readAll(c)
	h.remove(c)
	close(c.done)
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

// readAll answers the client until it leaves or breaks the protocol; gorilla has sent the close frame by then.
func (h *hub) readAll(c *client) {
	defer c.conn.Close()
	for {
		kind, data, err := c.conn.ReadMessage()
		if err != nil {
			return
		}
		if result, ok := broadcastResult(kind, data); ok {
			h.broadcast(kind, data)
			data = result
		}
		// Waits while the queue is full: a client that does not read is not read from.
		c.queue <- func(conn *websocket.Conn) error { return conn.WriteMessage(kind, data) }
	}
}

// broadcast queues the message for everyone. A client whose queue is full is dropped rather than waited for.
func (h *hub) broadcast(kind int, data []byte) {
	frame, err := websocket.NewPreparedMessage(kind, data) // Encoded once for all.
	if err != nil {
		return
	}
	send := func(conn *websocket.Conn) error { return conn.WritePreparedMessage(frame) }
	h.mu.RLock()
	defer h.mu.RUnlock()
	for c := range h.clients {
		select {
		case c.queue <- send:
		default:
			c.conn.Close()
		}
	}
}

// writeAll sends what is queued; after a failed write it closes the connection and only drains, so that the reader
// cannot hang on a full queue.
func (c *client) writeAll() {
	var broken bool
	for {
		select {
		case <-c.done:
			return
		case send := <-c.queue:
			if broken {
				continue
			}
			c.conn.SetWriteDeadline(time.Now().Add(writeWait))
			if send(c.conn) != nil {
				broken = true
				c.conn.Close()
			}
		}
	}
}

// closeAll sends every client a close frame and waits for them to leave, at most until the context ends.
func (h *hub) closeAll(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	goodbye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
	for _, c := range h.snapshot() {
		c.conn.WriteControl(websocket.CloseMessage, goodbye, deadline)
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
