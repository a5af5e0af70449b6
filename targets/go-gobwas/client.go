package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

const (
	messageBytesMax = 16 << 20
	// queueLen is how far a reader may fall behind before a broadcast gives up on it.
	queueLen  = 256
	writeWait = 10 * time.Second
)

// A client is one connection: a goroutine reads and answers it, another writes the broadcasts that are queued.
type client struct {
	conn    net.Conn
	reader  wsutil.Reader
	control wsutil.FrameHandlerFunc
	// message holds what was read last; its memory is used again for the next.
	message bytes.Buffer

	writing sync.Mutex
	queue   chan []byte
	// done ends the writer; the queue itself is never closed, since others may be sending to it.
	done chan struct{}
}

// newClient takes the connection, and what may have been read of it together with the handshake.
func newClient(conn net.Conn, source io.Reader) *client {
	c := &client{
		conn:  conn,
		queue: make(chan []byte, queueLen),
		done:  make(chan struct{}),
	}
	c.control = wsutil.ControlFrameHandler(c, ws.StateServerSide)
	c.reader = wsutil.Reader{
		Source:         source,
		State:          ws.StateServerSide,
		CheckUTF8:      true,
		MaxFrameSize:   messageBytesMax,
		OnIntermediate: c.control,
	}
	return c
}

// read returns the next message, which is good until the next read, and answers pings and closes before it.
func (c *client) read() (ws.OpCode, []byte, error) {
	for {
		header, err := c.reader.NextFrame()
		if err != nil {
			return 0, nil, err
		}
		if header.OpCode.IsControl() {
			if err := c.control(header, &c.reader); err != nil {
				return 0, nil, err
			}
			continue
		}
		c.message.Reset()
		// A message in several frames may be longer than one frame may be.
		size, err := c.message.ReadFrom(io.LimitReader(&c.reader, messageBytesMax+1))
		if size > messageBytesMax {
			err = wsutil.ErrFrameTooLarge
		}
		return header.OpCode, c.message.Bytes(), err
	}
}

// Write sends whole frames.
func (c *client) Write(frames []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(writeWait))
	return c.conn.Write(frames)
}

// writeAll sends what is queued; after a failed write it closes the connection, which ends the reader.
func (c *client) writeAll() {
	for {
		select {
		case <-c.done:
			return
		case frame := <-c.queue:
			if _, err := c.Write(frame); err != nil {
				c.conn.Close()
				return
			}
		}
	}
}

// sayWhy sends a close frame to a client that broke the protocol.
func (c *client) sayWhy(err error) {
	var broken ws.ProtocolError
	code := ws.StatusCode(0)
	switch {
	case errors.As(err, &broken):
		code = ws.StatusProtocolError
	case errors.Is(err, wsutil.ErrInvalidUTF8):
		code = ws.StatusInvalidFramePayloadData
	case errors.Is(err, wsutil.ErrFrameTooLarge):
		code = ws.StatusMessageTooBig
	default:
		return
	}
	c.Write(closeFrame(code))
}

func closeFrame(code ws.StatusCode) []byte {
	return ws.MustCompileFrame(ws.NewCloseFrame(ws.NewCloseFrameBody(code, "")))
}
