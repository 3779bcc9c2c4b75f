// etcd, as its own program.

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcd is its three processes.
type etcd struct {
	endpoints []string
	operator  *clientv3.Client
	clients   []*clientv3.Client
}

func openEtcd(o options, binary, dir string) ([]*process, store, error) {
	ports, err := freePorts(3, 2)
	if err != nil {
		return nil, nil, err
	}
	var cluster []string
	st := &etcd{}
	for i, port := range ports {
		cluster = append(cluster, fmt.Sprintf("n%d=http://%s", i, local(port)))
		st.endpoints = append(st.endpoints, "http://"+local(port+1))
	}
	var processes []*process
	for i, port := range ports {
		data := filepath.Join(dir, fmt.Sprint("n", i))
		args := []string{
			"--name", fmt.Sprint("n", i), "--data-dir", data, "--log-level", "fatal",
			"--listen-peer-urls", "http://" + local(port), "--initial-advertise-peer-urls", "http://" + local(port),
			"--listen-client-urls", st.endpoints[i], "--advertise-client-urls", st.endpoints[i],
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new",
		}
		if o.detection > 0 { // its documentation asks for ten heartbeats in an election time-out
			ms := o.detection.Milliseconds()
			args = append(args, "--election-timeout", strconv.FormatInt(ms, 10), "--heartbeat-interval", strconv.FormatInt(ms/10, 10))
		}
		processes = append(processes, &process{binary: binary, args: args, data: data})
	}
	st.operator, err = st.connect()
	return processes, st, err
}

func (st *etcd) connect() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: st.endpoints, DialTimeout: time.Second, Logger: zap.NewNop()})
}

// leader asks each process whether it leads.
func (st *etcd) leader(ctx context.Context) (int, error) {
	for i, endpoint := range st.endpoints {
		wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		s, err := st.operator.Status(wait, endpoint)
		cancel()
		if err == nil && s.Leader != 0 && s.Leader == s.Header.MemberId {
			return i, nil
		}
	}
	return 0, errors.New("none leads")
}

// asksAgain is how long a client waits for one answer. If it waited for longer, it would still wait for a leader that is gone when the next
// one serves.
const asksAgain = 100 * time.Millisecond

// client tries each write for a while, and again.
func (st *etcd) client() (func(context.Context, []byte, []byte) error, error) {
	c, err := st.connect()
	if err != nil {
		return nil, err
	}
	st.clients = append(st.clients, c)
	return func(ctx context.Context, key, value []byte) error {
		for {
			wait, cancel := context.WithTimeout(ctx, asksAgain)
			_, err := c.Put(wait, string(key), string(value))
			cancel()
			if err == nil || !sleep(ctx, time.Millisecond) {
				return err
			}
		}
	}, nil
}

// drain moves the leader to another process.
func (st *etcd) drain(ctx context.Context, process int) error {
	next, err := st.operator.Status(ctx, st.endpoints[(process+1)%3])
	if err != nil {
		return err
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: st.endpoints[process : process+1], Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.MoveLeader(ctx, next.Header.MemberId)
	return err
}

func (st *etcd) ready(ctx context.Context, process int) error {
	wait, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	s, err := st.operator.Status(wait, st.endpoints[process])
	if err == nil && s.Leader == 0 {
		err = errors.New("it follows nobody")
	}
	return err
}

func (st *etcd) close() {
	for _, c := range append(st.clients, st.operator) {
		_ = c.Close()
	}
}
