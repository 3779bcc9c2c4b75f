// Command hustings is the library's tool: it shows what the elections of
// package elector do. "hustings help" lists what it can do.
package main

import (
	"os"

	"github.com/hustings/hustings/cmd/hustings/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
