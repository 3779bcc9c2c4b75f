// The acceptance test for stores is a module of its own, so that the checker that
// it needs is no engine's dependency.
module github.com/hustings/hustings/lease/leasetest

go 1.26.0

replace github.com/hustings/hustings => ../../

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/hustings/hustings v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
