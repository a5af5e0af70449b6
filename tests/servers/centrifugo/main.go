// Command centrifugo is a server on github.com/centrifugal/centrifuge, the library of Centrifugo, whose channels have a history that
// clients recover from: `centrifugo ADDRESS`. GET / tells how many messages were published, and to how many subscribers.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
)

const (
	historySize = 10_000
	historyTTL  = time.Minute
)

var said, sent atomic.Int64

func main() {
	node, err := newNode()
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]int64{"said": said.Load(), "sent": sent.Load()})
	})
	// The server's pings are due within a test.
	pings := centrifuge.PingPongConfig{PingInterval: time.Second, PongTimeout: 500 * time.Millisecond}
	websockets := centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{PingPongConfig: pings})
	http.HandleFunc("GET /connection/websocket", func(w http.ResponseWriter, r *http.Request) {
		ctx := centrifuge.SetCredentials(r.Context(), &centrifuge.Credentials{})
		websockets.ServeHTTP(w, r.WithContext(ctx))
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

// newNode starts a node whose clients may subscribe to any channel, and publish to all but read-….
func newNode() (*centrifuge.Node, error) {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, err
	}
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(func(_ centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
			options := centrifuge.SubscribeOptions{EnableRecovery: true, EmitJoinLeave: true, PushJoinLeave: true}
			reply(centrifuge.SubscribeReply{Options: options}, nil)
		})
		client.OnPublish(func(event centrifuge.PublishEvent, reply centrifuge.PublishCallback) {
			if strings.HasPrefix(event.Channel, "read-") {
				reply(centrifuge.PublishReply{}, centrifuge.ErrorPermissionDenied)
				return
			}
			said.Add(1)
			sent.Add(int64(node.Hub().NumSubscribers(event.Channel)))
			result, err := node.Publish(event.Channel, event.Data, centrifuge.WithHistory(historySize, historyTTL))
			reply(centrifuge.PublishReply{Result: &result}, err)
		})
	})
	return node, node.Run()
}
