// An echo server on gorilla/websocket: `limits PORT READ_BYTES READ_WAIT PING_EVERY`. Each 0 is no limit. As in gorilla's chat
// example, pongs and messages move the read deadline.
package main

import (
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

func main() {
	readBytes, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	readWait, pingEvery := duration(os.Args[3]), duration(os.Args[4])
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		if readBytes > 0 {
			conn.SetReadLimit(readBytes)
		}
		wait := func() {
			if readWait > 0 {
				conn.SetReadDeadline(time.Now().Add(readWait))
			}
		}
		conn.SetPongHandler(func(string) error { wait(); return nil })
		if pingEvery > 0 {
			stop := make(chan struct{})
			defer close(stop)
			go ping(conn, pingEvery, stop)
		}
		for wait(); ; wait() {
			kind, message, err := conn.ReadMessage()
			if err != nil || conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

func ping(conn *websocket.Conn, every time.Duration, stop chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// Control frames may be written beside messages.
			if conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) != nil {
				return
			}
		case <-stop:
			return
		}
	}
}

func duration(text string) time.Duration {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		log.Fatal(err)
	}
	return parsed
}
