package main

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/olahol/melody"
)

const messageBytesMax = 16 << 20

// A room holds every open connection.
type room struct {
	*melody.Melody
	// inside counts the sessions that have not ended yet.
	inside sync.WaitGroup
}

func newRoom() *room {
	r := &room{Melody: melody.New()}
	r.Config.MaxMessageSize = messageBytesMax
	r.HandleConnect(func(*melody.Session) { r.inside.Add(1) })
	r.HandleDisconnect(func(*melody.Session) { r.inside.Done() })
	r.HandleMessage(r.answerText)
	r.HandleMessageBinary(r.answerBinary)
	r.HandleError(dropIfSlow)
	return r
}

func (r *room) handleUpgrade(w http.ResponseWriter, request *http.Request) {
	r.HandleRequest(w, request) // It has answered with the status if that fails.
}

func (r *room) answerText(session *melody.Session, text []byte) {
	if result, ok := jsonResult(text); ok {
		r.Broadcast(text)
		text = result
	}
	session.Write(text)
}

func (r *room) answerBinary(session *melody.Session, data []byte) {
	if result, ok := binaryResult(data); ok {
		r.BroadcastBinary(data)
		data = result
	}
	session.WriteBinary(data)
}

// dropIfSlow closes the connection of a session that a message did not fit into. The library would go on without the
// message.
func dropIfSlow(session *melody.Session, err error) {
	if errors.Is(err, melody.ErrMessageBufferFull) {
		session.WebsocketConnection().Close()
	}
}

// closeAll sends every client a close frame, and waits until all are written, at most until the context ends.
func (r *room) closeAll(ctx context.Context) {
	r.CloseWithMsg(melody.FormatCloseMessage(melody.CloseGoingAway, ""))
	left := make(chan struct{})
	go func() {
		r.inside.Wait()
		close(left)
	}()
	select {
	case <-ctx.Done():
	case <-left:
	}
}
