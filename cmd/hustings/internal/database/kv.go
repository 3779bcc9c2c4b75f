// Key-value stores.

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/etcdkv"
	"github.com/hustings/hustings/lease/kv/rediskv"
)

// All keys begin with prefix; wake-ups go through wakes.
const (
	prefix = "hustings/lease/"
	wakes  = "hustings/released/"
)

// etcd has a client only after prepare, because the client logs in when it is made.
type etcd struct {
	*etcdkv.KV
	config clientv3.Config
	client *clientv3.Client
}

func openEtcd(a address, _ Use) (*Database, error) {
	if err := a.parameterless(); err != nil {
		return nil, err
	}
	if a.path != "" {
		return nil, fmt.Errorf("the URL has the path %q; etcd: takes none", a.path)
	}
	e := &etcd{config: clientv3.Config{
		Endpoints: strings.Split(a.hosts, ","), Username: a.user, Password: a.password,
		DialTimeout: loginTimeout, Logger: zap.NewNop(), // because errors are returned as well
	}}
	d, err := underKeys(e, e.close)
	if err == nil {
		d.prepare = e.prepare
	}
	return d, err
}

// loginTimeout bounds a login.
const loginTimeout = 2 * time.Second

func (e *etcd) prepare(context.Context) error {
	if e.client != nil {
		return nil
	}
	client, err := clientv3.New(e.config)
	if err != nil {
		return err
	}
	e.client, e.KV = client, etcdkv.New(client, wakes)
	return nil
}

func (e *etcd) close() error {
	if e.client == nil {
		return nil
	}
	return e.client.Close()
}

func openRedis(a address, use Use) (*Database, error) {
	options, err := redis.ParseURL(a.text)
	if err != nil {
		return nil, err
	}
	options.MaxRetries = -1 // because a command that was perhaps executed must not be repeated silently
	options.ContextTimeoutEnabled = true
	logging.Disable() // because errors are returned as well
	client := redis.NewClient(options)
	keys := rediskv.New(client, wakes)
	d, err := underKeys(keys, client.Close)
	if err == nil && use == ForCandidates {
		d.prepare = func(ctx context.Context) error { return unfit(keys.Check(ctx)) }
	}
	return d, err
}

// unfit marks the error of a Redis that can evict keys.
func unfit(err error) error {
	if _, evicts := errors.AsType[*rediskv.EvictionError](err); evicts {
		return UnfitError{err}
	}
	return err
}

// adapter connects package kv to a store.
type adapter interface {
	kv.KV
	lease.Waker
}

func underKeys(to adapter, closing func() error) (*Database, error) {
	store, err := kv.New(to, prefix)
	if err != nil {
		return nil, err
	}
	return &Database{Store: store, Waker: to, close: closing}, nil
}
