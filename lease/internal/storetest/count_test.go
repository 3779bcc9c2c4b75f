// Statements, counted on their way to the database.

package storetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// counter counts statements. It is also a hook of Redis's client, where a pipeline counts as one.
type counter struct{ atomic.Int64 }

func (n *counter) statements() int { return int(n.Load()) }

// open opens a database whose statements are counted.
func (n *counter) open(t testing.TB, d database, settings string) *sql.DB {
	t.Helper()
	plain := d.open(t, settings)
	inner := plain.Driver()
	c := &connector{inner, func(context.Context) (driver.Conn, error) { return inner.Open(d.source(t) + settings) }, n}
	if able, ok := inner.(driver.DriverContext); ok {
		from, err := able.OpenConnector(d.source(t) + settings)
		require.NoError(t, err)
		c.connect = from.Connect
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() }) // as that of a database
	return db
}

type connector struct {
	driver  driver.Driver
	connect func(context.Context) (driver.Conn, error)
	n       *counter
}

func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{conn, c.n}, nil
}

type connection struct {
	driver.Conn
	n *counter
}

func (c *connection) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.n.Add(1)
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

// sent counts a statement, unless the driver has it prepared first.
func (c *connection) sent(err error) {
	if !errors.Is(err, driver.ErrSkip) {
		c.n.Add(1)
	}
}

func (c *connection) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
	c.sent(err)
	return result, err
}

func (c *connection) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
	c.sent(err)
	return rows, err
}

func (n *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return next(ctx, network, address)
	}
}

func (n *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		n.Add(1)
		return next(ctx, c)
	}
}

func (n *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		n.Add(1)
		return next(ctx, all)
	}
}

// watch counts the calls of an etcd client.
func (n *counter) watch(client *clientv3.Client) *clientv3.Client {
	client.KV, client.Lease = etcdKeys{client.KV, n}, etcdLeases{client.Lease, n}
	return client
}

type etcdKeys struct {
	clientv3.KV
	n *counter
}

func (k etcdKeys) Txn(ctx context.Context) clientv3.Txn {
	k.n.Add(1)
	return k.KV.Txn(ctx)
}

func (k etcdKeys) Get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	k.n.Add(1)
	return k.KV.Get(ctx, key, options...)
}

func (k etcdKeys) Put(ctx context.Context, key, value string, options ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	k.n.Add(1)
	return k.KV.Put(ctx, key, value, options...)
}

type etcdLeases struct {
	clientv3.Lease
	n *counter
}

func (l etcdLeases) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	l.n.Add(1)
	return l.Lease.Grant(ctx, ttl)
}
