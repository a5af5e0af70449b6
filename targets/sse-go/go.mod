module throng/targets/sse-go

go 1.23
