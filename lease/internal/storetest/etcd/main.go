// Command etcd runs an etcd for the tests of other modules. Its arguments are the port to
// listen on and the directory for its data. It runs until it is killed.
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
