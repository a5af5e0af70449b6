package main

import (
	"encoding/binary"
	"encoding/json"

	"github.com/lesismal/nbio/nbhttp/websocket"
)

// Of websocket-bench's binary form: the type in byte 0, then a big-endian u32, the size of the rest, which opens with
// an i64 of unix nanoseconds.
const (
	headerBytes = 1 + 4
	timeBytes   = 8
)

type jsonMessage struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// broadcastResult returns what the sender of a broadcast gets besides its own copy, or false if the message is no
// broadcast. An echo needs no decoding: in both forms its answer is the message itself, and so is the answer to a
// message that belongs to neither.
func broadcastResult(kind websocket.MessageType, data []byte) ([]byte, bool) {
	if kind == websocket.BinaryMessage {
		return binaryResult(data)
	}
	return jsonResult(data)
}

func binaryResult(data []byte) ([]byte, bool) {
	if len(data) < headerBytes+timeBytes || data[0] != 'b' {
		return nil, false
	}
	if uint64(binary.BigEndian.Uint32(data[1:])) != uint64(len(data)-headerBytes) {
		return nil, false
	}
	result := append([]byte(nil), data...)
	result[0] = 'r'
	return result, true
}

func jsonResult(data []byte) ([]byte, bool) {
	var message jsonMessage
	if json.Unmarshal(data, &message) != nil || message.Type != "broadcast" {
		return nil, false
	}
	message.Type = "broadcastResult"
	result, err := json.Marshal(message)
	return result, err == nil
}
