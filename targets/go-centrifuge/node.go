package main

import (
	"log"
	"net/http"

	"github.com/centrifugal/centrifuge"
)

// messageBytesMax is the most that a client may say at once; the library's own limit is 64 KiB.
const messageBytesMax = 16 << 20

// newNode starts a node whose clients may subscribe to any channel, publish there, and call "echo".
func newNode() (*centrifuge.Node, error) {
	node, err := centrifuge.New(centrifuge.Config{
		LogLevel:   centrifuge.LogLevelError,
		LogHandler: func(entry centrifuge.LogEntry) { log.Println(entry.Message, entry.Fields) },
	})
	if err != nil {
		return nil, err
	}
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
			reply(centrifuge.SubscribeReply{}, nil)
		})
		client.OnPublish(func(_ centrifuge.PublishEvent, reply centrifuge.PublishCallback) {
			reply(centrifuge.PublishReply{}, nil)
		})
		client.OnRPC(func(event centrifuge.RPCEvent, reply centrifuge.RPCCallback) {
			if event.Method != "echo" {
				reply(centrifuge.RPCReply{}, centrifuge.ErrorMethodNotFound)
				return
			}
			reply(centrifuge.RPCReply{Data: event.Data}, nil)
		})
	})
	return node, node.Run()
}

func newHandler(node *centrifuge.Node) http.Handler {
	return centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		CheckOrigin:        func(*http.Request) bool { return true },
		MessageSizeLimit:   messageBytesMax,
		UseWriteBufferPool: true,
	})
}
