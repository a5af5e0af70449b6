package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/net/websocket"
)

const (
	messageBytesMax = 16 << 20
	// queueLen is how far a reader may fall behind before a broadcast gives up on it.
	queueLen        = 256
	writeWait       = 10 * time.Second
	statusGoingAway = 1001
)

// A message keeps its kind, which the library's own codec forgets: io.Copy would echo text alone.
type message struct {
	kind byte
	data []byte
}

var codec = websocket.Codec{
	Marshal: func(v any) ([]byte, byte, error) {
		m := v.(message)
		return m.data, m.kind, nil
	},
	Unmarshal: func(data []byte, kind byte, v any) error {
		*v.(*message) = message{kind, data}
		return nil
	},
}

// A hub knows every open connection.
type hub struct {
	mu      sync.RWMutex
	clients map[*client]struct{}
}

// A client is one connection: a goroutine reads it, another writes the messages that are queued.
type client struct {
	conn  *websocket.Conn
	queue chan message
	// done ends the writer; the queue itself is never closed, since others may be sending to it.
	done chan struct{}
}

func newHub() *hub {
	return &hub{clients: make(map[*client]struct{})}
}

// handle serves one connection.
func (h *hub) handle(conn *websocket.Conn) {
	defer conn.Close() // With a close frame; the library would only close the socket.
	conn.MaxPayloadBytes = messageBytesMax
	c := &client{
		conn:  conn,
		queue: make(chan message, queueLen),
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

// readAll answers the client until it leaves or breaks the protocol.
func (h *hub) readAll(c *client) {
	for {
		var m message
		if codec.Receive(c.conn, &m) != nil {
			return
		}
		if result, ok := broadcastResult(m); ok {
			h.broadcast(m)
			m = result
		}
		// Waits while the queue is full: a client that does not read is not read from.
		c.queue <- m
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
		case m := <-c.queue:
			if broken {
				continue
			}
			c.conn.SetWriteDeadline(time.Now().Add(writeWait))
			if codec.Send(c.conn, m) != nil {
				broken = true
				c.conn.Close()
			}
		}
	}
}

// closeAll sends every client a close frame and waits for them to leave, at most until the context ends.
func (h *hub) closeAll(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	for _, c := range h.snapshot() {
		c.conn.SetWriteDeadline(deadline)
		c.conn.WriteClose(statusGoingAway)
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
