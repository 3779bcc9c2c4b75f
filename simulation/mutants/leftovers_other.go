//go:build !linux

package main

// Mutants leave processes behind only where there is a watchdog.
func adoptLeftovers() error { return nil }

func endLeftovers() {}
