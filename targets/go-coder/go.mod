module throng/targets/go-coder

go 1.23

require github.com/coder/websocket v1.8.15
