module throng/targets/go-gonet

go 1.23.0

require golang.org/x/net v0.42.0
