//go:build !unix

package cli

func beTheCommand() {}
