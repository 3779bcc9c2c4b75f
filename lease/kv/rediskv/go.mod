// The adapter to Redis is a module of its own, so that its client is nobody
// else's dependency.
module github.com/hustings/hustings/lease/kv/rediskv

go 1.26.0

replace github.com/hustings/hustings => ../../../

require (
	github.com/hustings/hustings v0.0.0-00010101000000-000000000000
	github.com/redis/go-redis/v9 v9.17.3
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
)
