module throng/targets/go-melody

go 1.23

require github.com/olahol/melody v1.4.0

require github.com/gorilla/websocket v1.5.3 // indirect
