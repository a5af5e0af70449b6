module throng/targets/go-gonet

go 1.26.0

require golang.org/x/net v0.42.0
