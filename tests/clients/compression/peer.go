// An echo server or a client with permessage-deflate, on gorilla/websocket: see peer.js. It knows no context takeover, so that
// the third argument changes nothing.
package main

import (
	"fmt"
	"log"
	"math/rand"
	"net/http"
	"os"
	"strings"

	"github.com/gorilla/websocket"
)

func main() {
	if role, where := os.Args[1], os.Args[2]; role == "serve" {
		log.Fatal(http.ListenAndServe("127.0.0.1:"+where, http.HandlerFunc(echo)))
	} else if err := ask(where); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok")
}

func echo(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{EnableCompression: true}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer connection.Close()
	for strings.Contains(r.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate") {
		kind, message, err := connection.ReadMessage()
		if err != nil || connection.WriteMessage(kind, message) != nil {
			return
		}
	}
}

func ask(url string) error {
	dialer := websocket.Dialer{EnableCompression: true}
	connection, response, err := dialer.Dial(url, nil)
	if err != nil {
		return err
	}
	defer connection.Close()
	const agreed = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
	if answer := response.Header.Get("Sec-WebSocket-Extensions"); answer != agreed {
		return fmt.Errorf("agreed on %q", answer)
	}
	texts := []string{"", "Hello", "Hello", strings.Repeat("Hello ", 20_000), "Hello", fmt.Sprint(rand.Perm(999))}
	for _, text := range append(texts, texts...) {
		if err := connection.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			return err
		}
		if _, answer, err := connection.ReadMessage(); err != nil || string(answer) != text {
			return fmt.Errorf("sent %.20q, heard %.20q: %v", text, answer, err)
		}
	}
	return nil
}
