// Candidates that contend for a lease in a real database, one of them over a line that can fall
// silent.

package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/hustings/hustings/internal/faultproxy"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/kv"
	"github.com/hustings/hustings/lease/kv/etcdkv"
	"github.com/hustings/hustings/lease/kv/rediskv"
	"github.com/hustings/hustings/lease/sqllease"
	"github.com/hustings/hustings/memberstate"
)

// server is a real database and the ways to it.
type server struct {
	address string
	// store makes a store over a connection of its own to an address, whose statements
	// are counted.
	store func(t testing.TB, address string, n *counter) lease.Store
	// silent makes a store that falls silent when its line does, and the line.
	silent func(t testing.TB) (lease.Store, silencer)
	// written returns the database's own counter of writes.
	written func(t testing.TB) string
	// freeze locks out all writers, but no readers, until thaw is called; etcd believes
	// that its disk is full.
	freeze func(t testing.TB) (thaw func())
}

// silencer is a line that can fall silent, or a substitute for one.
type silencer interface {
	Hold()
	Resume()
}

// servers opens every kind of database, by name.
var servers = map[string]func(t testing.TB) *server{
	"SQLite": func(t testing.TB) *server {
		t.Helper()
		source := databases["SQLite"].source(t)
		d := databases["SQLite"]
		d.source = func(testing.TB) string { return source }
		s := &server{store: func(t testing.TB, _ string, n *counter) lease.Store {
			t.Helper()
			return d.store(t, n.open(t, d, ""))
		}}
		s.silent = func(t testing.TB) (lease.Store, silencer) {
			t.Helper()
			g := newGate(s.store(t, "", new(counter)))
			t.Cleanup(g.Resume)
			return g, g
		}
		watch := d.open(t, "")
		watch.SetMaxOpenConns(1) // it counts the changes that others make
		s.written = asks(watch, "PRAGMA data_version")
		s.freeze = locks(d.open(t, ""), "BEGIN IMMEDIATE", "ROLLBACK")
		return s
	},
	"PostgreSQL": func(t testing.TB) *server {
		t.Helper()
		where, err := url.Parse(databases["PostgreSQL"].source(t))
		require.NoError(t, err)
		db := databases["PostgreSQL"].open(t, "")
		return overTCP(where.Host, asks(db, "SELECT pg_snapshot_xmax(pg_current_snapshot())"), locksTable("PostgreSQL", db), func(t testing.TB, address string, n *counter) lease.Store {
			t.Helper()
			d, there := databases["PostgreSQL"], *where
			there.Host = address
			d.source = func(testing.TB) string { return there.String() }
			return d.store(t, n.open(t, d, ""))
		})
	},
	"MariaDB": func(t testing.TB) *server {
		t.Helper()
		source := databases["MariaDB"].source(t)
		_, rest, _ := strings.Cut(source, "tcp(")
		host, _, _ := strings.Cut(rest, ")")
		db := databases["MariaDB"].open(t, "")
		return overTCP(host, asks(db, "SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')"), locksTable("MariaDB", db), func(t testing.TB, address string, n *counter) lease.Store {
			t.Helper()
			d := databases["MariaDB"]
			d.source = func(testing.TB) string { return strings.Replace(source, host, address, 1) }
			return d.store(t, n.open(t, d, ""))
		})
	},
	"Redis": func(t testing.TB) *server {
		t.Helper()
		client := redis.NewClient(&redis.Options{Addr: given("HUSTINGS_TEST_REDIS")(t)})
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		written := func(t testing.TB) string {
			t.Helper()
			info, err := client.Info(t.Context(), "persistence").Result()
			require.NoError(t, err)
			_, rest, _ := strings.Cut(info, "rdb_changes_since_last_save:")
			changes, _, _ := strings.Cut(rest, "\r")
			return changes
		}
		freeze := func(t testing.TB) func() {
			t.Helper()
			require.NoError(t, client.Do(t.Context(), "CLIENT", "PAUSE", patience.Milliseconds(), "WRITE").Err())
			return until(t, func(ctx context.Context) error { return client.Do(ctx, "CLIENT", "UNPAUSE").Err() })
		}
		return overTCP(client.Options().Addr, written, freeze, func(t testing.TB, address string, n *counter) lease.Store {
			t.Helper()
			client := dialRedis(t, address)
			client.AddHook(n)
			return keys(t, rediskv.New(client, "released"))
		})
	},
	"etcd": func(t testing.TB) *server {
		t.Helper()
		address := startEtcd(t)
		client := dialEtcd(t, address)
		written := func(t testing.TB) string {
			t.Helper()
			answer, err := client.Get(t.Context(), "x")
			require.NoError(t, err)
			return strconv.FormatInt(answer.Header.Revision, 10)
		}
		freeze := func(t testing.TB) func() {
			t.Helper()
			full := func(action pb.AlarmRequest_AlarmAction) func(context.Context) error {
				return func(ctx context.Context) error {
					alarm := &pb.AlarmRequest{Action: action, Alarm: pb.AlarmType_NOSPACE}
					_, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, alarm)
					return err
				}
			}
			require.NoError(t, full(pb.AlarmRequest_ACTIVATE)(t.Context()))
			return until(t, full(pb.AlarmRequest_DEACTIVATE))
		}
		return overTCP(address, written, freeze, func(t testing.TB, address string, n *counter) lease.Store {
			t.Helper()
			return keys(t, etcdkv.New(n.watch(dialEtcd(t, address)), "released/"))
		})
	},
}

// keys makes a store over keys that all candidates of all tests share.
func keys(t testing.TB, over kv.KV) lease.Store {
	t.Helper()
	s, err := kv.New(over, "faults/")
	require.NoError(t, err)
	return s
}

// asks returns a function that sends a query to a database.
func asks(db *sql.DB, question string) func(testing.TB) string {
	return func(t testing.TB) (answer string) {
		t.Helper()
		require.NoError(t, db.QueryRowContext(t.Context(), question).Scan(&answer))
		return answer
	}
}

// locks freezes a database by a lock.
func locks(db *sql.DB, lock, unlock string) func(testing.TB) func() {
	return func(t testing.TB) func() {
		t.Helper()
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), lock)
		require.NoError(t, err)
		return until(t, func(ctx context.Context) error {
			_, err := conn.ExecContext(ctx, unlock)
			return errors.Join(err, conn.Close())
		})
	}
}

func locksTable(name string, db *sql.DB) func(testing.TB) func() {
	how := lockable[name]
	return locks(db, fmt.Sprintf(how.lockTable, sqllease.DefaultTable), how.unlock)
}

// until returns a function that calls do once; at the latest the end of the test calls it.
func until(t testing.TB, do func(context.Context) error) func() {
	t.Helper()
	once := sync.OnceFunc(func() { require.NoError(t, do(context.WithoutCancel(t.Context()))) })
	t.Cleanup(once)
	return once
}

func overTCP(address string, written func(testing.TB) string, freeze func(testing.TB) func(), store func(testing.TB, string, *counter) lease.Store) *server {
	return &server{address: address, store: store, written: written, freeze: freeze, silent: func(t testing.TB) (lease.Store, silencer) {
		t.Helper()
		l, err := faultproxy.New(address)
		require.NoError(t, err)
		s := store(t, l.Address(), new(counter))
		t.Cleanup(func() { assert.NoError(t, l.Close()) }) // before its clients
		return s, l
	}}
}

// gate is a substitute for a line to a database that has no connection: it hangs, and ignores the
// context.
type gate struct {
	lease.Store
	mu    sync.Mutex
	moved *sync.Cond
	held  bool // nothing gets in or out
}

func newGate(s lease.Store) *gate {
	g := &gate{Store: s}
	g.moved = sync.NewCond(&g.mu)
	return g
}

func (g *gate) set(held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = held
	g.moved.Broadcast()
}

func (g *gate) Hold()   { g.set(true) }
func (g *gate) Resume() { g.set(false) }

func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.held {
		g.moved.Wait()
	}
}

func (g *gate) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	g.wait()
	defer g.wait()
	return g.Store.Renew(ctx, holder, held)
}

func (g *gate) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	g.wait()
	defer g.wait()
	return g.Store.Read(ctx, names)
}

func (g *gate) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	g.wait()
	defer g.wait()
	return g.Store.Acquire(ctx, c)
}

// unhurried are intervals that even a busy machine can keep.
var unhurried = lease.Timing{
	TTL: 2 * time.Second, Renew: 400 * time.Millisecond, Poll: 100 * time.Millisecond, Timeout: 400 * time.Millisecond, DriftMargin: 300 * time.Millisecond,
}

// race is a lease that some candidates contend for.
type race struct {
	t      *testing.T
	server *server
	name   string
	began  chan term // every term in office
}

// term is one term in office.
type term struct {
	who  *lease.Elector
	term memberstate.Term
	ctx  context.Context
}

// contend runs a test against every kind of database, all at once.
func contend(t *testing.T, test func(*race)) {
	t.Helper()
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&race{t: t, server: open(t), name: "race " + rand.Text(), began: make(chan term, 100)})
		})
	}
}

// settings are the whole configuration of a candidate for one lease.
type settings struct {
	lease.KeeperConfig
	lease.GroupConfig
}

// enter runs a candidate until the test ends.
func (r *race) enter(self string, store lease.Store, change func(*settings)) *lease.Elector {
	r.t.Helper()
	var el *lease.Elector
	config := settings{lease.KeeperConfig{Self: self, Store: store, Timing: unhurried}, lease.GroupConfig{Name: r.name}}
	config.Lead = func(ctx context.Context, number memberstate.Term) error {
		r.began <- term{el, number, ctx}
		<-ctx.Done()
		return nil
	}
	if change != nil {
		change(&config)
	}
	el, err := lease.New(config.KeeperConfig, config.GroupConfig)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- el.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		require.NoError(r.t, <-ended)
	})
	return el
}

// direct makes a store over a sound connection.
func (r *race) direct() lease.Store {
	r.t.Helper()
	return r.server.store(r.t, r.server.address, new(counter))
}

// next waits until a candidate takes office.
func (r *race) next() term {
	r.t.Helper()
	select {
	case began := <-r.began:
		return began
	case <-time.After(patience):
		require.FailNow(r.t, "no candidate takes office")
		return term{}
	}
}

// patience is longer than anything takes that does not fail.
const patience = 30 * time.Second

// ends waits until an office ends.
func (r *race) ends(office term) {
	r.t.Helper()
	select {
	case <-office.ctx.Done():
	case <-time.After(patience):
		require.FailNow(r.t, "the office does not end")
	}
}

func (r *race) record(s lease.Store) lease.Record {
	r.t.Helper()
	found, err := s.Read(r.t.Context(), []string{r.name})
	require.NoError(r.t, err)
	require.Len(r.t, found, 1)
	return found[0]
}
