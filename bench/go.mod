module github.com/hustings/hustings/bench

go 1.26.0

require (
	github.com/hustings/hustings v0.0.0
	github.com/stretchr/testify v1.12.1
	go.etcd.io/raft/v3 v3.7.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/hustings/hustings => ..
