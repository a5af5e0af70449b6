package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/lesismal/nbio/nbhttp/websocket"
)

const (
	messageBytesMax = 16 << 20
	// queueBytesMax is how far a reader may fall behind before it is given up.
	queueBytesMax = 64 << 20
	goingAway     = 1001
)

// A hub knows every open connection.
type hub struct {
	upgrader *websocket.Upgrader

	mu      sync.RWMutex
	clients map[*websocket.Conn]struct{}
}

func newHub() *hub {
	h := &hub{
		upgrader: websocket.NewUpgrader(),
		clients:  make(map[*websocket.Conn]struct{}),
	}
	// A client may be silent for as long as it likes.
	h.upgrader.KeepaliveTime = 0
	h.upgrader.MessageLengthLimit = messageBytesMax
	// A load generator is no browser and may send any Origin.
	h.upgrader.CheckOrigin = func(*http.Request) bool { return true }
	h.upgrader.OnOpen(h.add)
	h.upgrader.OnMessage(h.answer)
	h.upgrader.OnClose(h.remove)
	return h
}

func (h *hub) handleUpgrade(w http.ResponseWriter, r *http.Request) {
	h.upgrader.Upgrade(w, r, nil) // It has answered with the status if that fails.
}

func (h *hub) add(conn *websocket.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients[conn] = struct{}{}
}

func (h *hub) remove(conn *websocket.Conn, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, conn)
}

// answer is called for one message of a client at a time. A failed write closes the connection.
func (h *hub) answer(conn *websocket.Conn, kind websocket.MessageType, data []byte) {
	if result, ok := broadcastResult(kind, data); ok {
		h.broadcast(kind, data)
		data = result
	}
	conn.WriteMessage(kind, data)
}

// broadcast writes to a snapshot, since a failed write may remove its connection at once.
func (h *hub) broadcast(kind websocket.MessageType, data []byte) {
	for _, conn := range h.snapshot() {
		conn.WriteMessage(kind, data)
	}
}

// closeAll sends every client a close frame and waits for them to leave, at most until the context ends.
func (h *hub) closeAll(ctx context.Context) {
	for _, conn := range h.snapshot() {
		conn.WriteClose(goingAway, "")
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

func (h *hub) snapshot() []*websocket.Conn {
	h.mu.RLock()
	defer h.mu.RUnlock()
	clients := make([]*websocket.Conn, 0, len(h.clients))
	for conn := range h.clients {
		clients = append(clients, conn)
	}
	return clients
}
