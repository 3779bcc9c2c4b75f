// Command etcd is an etcd for tests of programs that are not in this module: it
// listens on the port that it is told, keeps its data in the directory that it is
// told, and runs until it is killed.
package main

import (
	"log"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: etcd PORT DIRECTORY")
	}
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync = os.Args[2], "fatal", true
	config.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:" + os.Args[1]}}
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	server, err := embed.StartEtcd(config)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(<-server.Err())
}
