module github.com/hustings/hustings/bench/raft36

go 1.26.0

require github.com/hustings/hustings/bench v0.0.0

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/hustings/hustings v0.0.0 // indirect
	go.etcd.io/raft/v3 v3.7.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/hustings/hustings => ../..
	github.com/hustings/hustings/bench => ..
	go.etcd.io/raft/v3 => go.etcd.io/raft/v3 v3.6.0
)
