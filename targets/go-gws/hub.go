package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/lxzan/gws"
)

const (
	messageBytesMax = 16 << 20
	goingAway       = 1001
)

// A hub knows every open connection; the library tells it what happens on each.
type hub struct {
	gws.BuiltinEventHandler
	upgrader *gws.Upgrader

	mu      sync.RWMutex
	clients map[*gws.Conn]struct{}
}

func newHub() *hub {
	h := &hub{clients: make(map[*gws.Conn]struct{})}
	h.upgrader = gws.NewUpgrader(h, &gws.ServerOption{
		CheckUtf8Enabled:   true,
		ReadMaxPayloadSize: messageBytesMax,
		Recovery:           gws.Recovery,
	})
	return h
}

func (h *hub) handleUpgrade(w http.ResponseWriter, r *http.Request) {
	conn, err := h.upgrader.Upgrade(w, r)
	if err != nil {
		return // Upgrade has answered with the status.
	}
	// A goroutine of its own, so that the request and its buffers are not kept.
	go conn.ReadLoop()
}

func (h *hub) OnOpen(conn *gws.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients[conn] = struct{}{}
}

func (h *hub) OnClose(conn *gws.Conn, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, conn)
}

func (h *hub) OnPing(conn *gws.Conn, payload []byte) {
	conn.WritePong(payload)
}

// OnMessage answers. A failed write closes the connection, which ends its ReadLoop.
func (h *hub) OnMessage(conn *gws.Conn, message *gws.Message) {
	defer message.Close()
	result, ok := broadcastResult(message.Opcode, message.Bytes())
	if !ok {
		conn.WriteMessage(message.Opcode, message.Bytes())
		return
	}
	h.broadcast(message.Opcode, message.Bytes())
	conn.WriteMessage(message.Opcode, result)
}

// broadcast frames the message once and queues it for everyone.
func (h *hub) broadcast(opcode gws.Opcode, data []byte) {
	broadcaster := gws.NewBroadcaster(opcode, data)
	defer broadcaster.Close()
	h.mu.RLock()
	defer h.mu.RUnlock()
	for conn := range h.clients {
		broadcaster.Broadcast(conn)
	}
}

// closeAll sends every client a close frame, and waits until all are written, at most until the context ends.
func (h *hub) closeAll(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	var closing sync.WaitGroup
	for _, conn := range h.snapshot() {
		closing.Add(1)
		go func() {
			defer closing.Done()
			conn.SetWriteDeadline(deadline)
			conn.WriteClose(goingAway, nil)
		}()
	}
	closed := make(chan struct{})
	go func() {
		closing.Wait()
		close(closed)
	}()
	select {
	case <-ctx.Done():
	case <-closed:
	}
}

func (h *hub) snapshot() []*gws.Conn {
	h.mu.RLock()
	defer h.mu.RUnlock()
	clients := make([]*gws.Conn, 0, len(h.clients))
	for conn := range h.clients {
		clients = append(clients, conn)
	}
	return clients
}
