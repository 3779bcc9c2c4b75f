// The command is a module of its own: what it depends on, the library does not.
module github.com/hustings/hustings/cmd/hustings

go 1.26

// The command is built with the library beside it; go.work says the same for
// the root, and this line for whoever works without it (GOWORK=off).
replace github.com/hustings/hustings => ../..

require (
	github.com/spf13/cobra v1.10.2
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
