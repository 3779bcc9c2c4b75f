// Command release makes a release of this repository, or rehearses one.
//
//	go run ./internal/release prepare v0.1.0
//	go run ./internal/release rehearse [v0.1.0]
//
// The repository holds several modules. In the tree they find each other by replace directives,
// which have no effect for modules that depend on them. So a release tags the modules in order:
// first the library as it is; then, in a commit of their own, the modules that need it, which
// now require the new version and replace nothing; then the modules that need these.
//
// Everything happens in a scratch clone of the commit that is checked out. Both commands write
// tags there, and let the go command make a module proxy in the file system from them, as the
// public proxy will do. From it prepare builds the command for every platform, and leaves
// archives, checksums, bills of materials and the tags in dist. rehearse uses the proxy as users
// would, see rehearse.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: release prepare VERSION, or release rehearse [VERSION]")

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "prepare":
		return prepare(ctx, ".", args[1])
	case len(args) == 2 && args[0] == "rehearse":
		return rehearse(ctx, ".", args[1])
	case len(args) == 1 && args[0] == "rehearse":
		return rehearse(ctx, ".", "")
	}
	return errUsage
}

// headline prints the next step.
func headline(format string, args ...any) { fmt.Printf("release: "+format+"\n", args...) }
