//go:build !linux

package main

// Only where there is a watchdog can its mutants leave anything behind.
func adoptLeftovers() error { return nil }

func endLeftovers() {}
