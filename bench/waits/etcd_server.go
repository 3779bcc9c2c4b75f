//go:build never

// So that go.mod has the version of the program that main.go builds.

package main

import _ "go.etcd.io/etcd/server/v3"
