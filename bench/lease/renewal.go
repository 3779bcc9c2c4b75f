// The cost of renewing one lease, and ten thousand of one holder.

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/hustings/hustings/bench/figure"
	"github.com/hustings/hustings/bench/measure"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/memberstate"
)

func renewalSection(s *server) figure.Section {
	return figure.Section{
		Name: "renewal", Title: "The cost of a renewal, for each lease",
		Configured: []string{
			fmt.Sprintf("In memory: the CPU time of the process, by getrusage, while one holder leads with all of its leases and there is no other candidate, divided by the number of leases that are renewed meanwhile; 1 lease every %v, %d leases every %v. Ours has them in one keeper, client-go an elector for each.", single.renew, thousands, crowd.renew),
			"On PostgreSQL: the time of one statement of the store's that renews them all, with its commit, on loopback, fsync on.",
		},
		Measure: func(ctx context.Context, p figure.Plan) ([]figure.Figure, error) { return renewals(ctx, s, p) },
	}
}

const thousands = 10_000

var (
	single = timing{ttl: time.Second, renew: 10 * time.Millisecond}
	crowd  = timing{ttl: 10 * time.Second, renew: 2 * time.Second}
)

func renewals(ctx context.Context, s *server, p figure.Plan) ([]figure.Figure, error) {
	rounds, lasting, statements := 2, 5*time.Second, 50
	if p.Quick {
		rounds, lasting, statements = 1, 2*time.Second, 5
	}
	var table measure.Table
	for round := range rounds {
		for i, c := range []struct {
			leases int
			timing timing
		}{{1, single}, {thousands, crowd}} {
			p.Progress("renewals in memory", (float64(round)+float64(i)/2)/float64(rounds+1))
			pair := table.Pair(fmt.Sprintf("CPU time, %d leases, memory", c.leases), "us a lease")
			for values, hold := range map[*[]float64]hold{&pair.Ours: holdOurs, &pair.Peer: holdTheirs} {
				cost, err := renewing(ctx, hold, c.leases, c.timing, lasting)
				if err != nil {
					return table.Figures("renewal", peerName), measure.UnlessOver(ctx, err)
				}
				*values = append(*values, cost)
			}
		}
	}
	p.Progress("renewals on PostgreSQL", float64(rounds)/float64(rounds+1))
	err := renewingPostgres(ctx, s, statements, &table)
	return table.Figures("renewal", peerName), measure.UnlessOver(ctx, err)
}

// hold lets one holder take a number of leases, over a link, until the context ends; led
// receives a value for each. It returns a function that waits for the end.
type hold func(ctx context.Context, l *link, leases int, t timing, led chan<- struct{}) (wait func(), err error)

// renewing returns the CPU time of each renewal of a lease, in microseconds.
func renewing(ctx context.Context, hold hold, leases int, t timing, lasting time.Duration) (float64, error) {
	l, led := newLink(false), make(chan struct{}, leases)
	holding, leave := context.WithCancel(context.WithoutCancel(ctx))
	wait, err := hold(holding, l, leases, t, led)
	if err != nil {
		leave()
		return 0, err
	}
	defer func() {
		leave()
		wait()
	}()
	for range leases {
		select {
		case <-led:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if err := sleep(ctx, 2*t.renew); err != nil {
		return 0, err
	}
	cpu, asked := measure.CPU(), l.asked()
	if err := sleep(ctx, lasting); err != nil {
		return 0, err
	}
	renewed := l.asked().since(asked).renewed
	if renewed == 0 {
		return 0, errors.New("nothing was renewed")
	}
	return float64((measure.CPU() - cpu).Nanoseconds()) / 1e3 / float64(renewed), nil
}

func holdOurs(ctx context.Context, l *link, leases int, t timing, led chan<- struct{}) (func(), error) {
	keeper, err := lease.NewKeeper(lease.KeeperConfig{Self: "holder", Store: linked{new(mem.Store), l}, Timing: t.ours()})
	if err != nil {
		return nil, err
	}
	electors := make([]*lease.Elector, leases)
	for i := range electors {
		electors[i], err = keeper.Join(lease.GroupConfig{Name: strconv.Itoa(i), Lead: func(ctx context.Context, _ memberstate.Term) error {
			lead(ctx, led)
			return nil
		}})
		if err != nil {
			return nil, err
		}
	}
	return runAll(leases, func(i int) { _ = electors[i].Run(ctx) }), nil // which cannot fail, because each runs once
}

func holdTheirs(ctx context.Context, l *link, leases int, t timing, led chan<- struct{}) (func(), error) {
	shared := new(kubernetes)
	electors := make([]*leaderelection.LeaderElector, leases)
	for i := range electors {
		var err error
		lock := shared.lock(strconv.Itoa(i), "holder", l)
		if electors[i], err = leaderelection.NewLeaderElector(t.theirs(lock, func(ctx context.Context) { lead(ctx, led) })); err != nil {
			return nil, err
		}
	}
	return runAll(leases, func(i int) { electors[i].Run(silenced(ctx)) }), nil
}

// lead sends to led that it leads, if that is still received.
func lead(ctx context.Context, led chan<- struct{}) {
	select {
	case led <- struct{}{}:
	default:
	}
	<-ctx.Done()
}

// runAll runs a number of functions, and returns a function that waits for them.
func runAll(number int, one func(i int)) (wait func()) {
	var running sync.WaitGroup
	for i := range number {
		running.Go(func() { one(i) })
	}
	return running.Wait
}

// renewingPostgres times the statement that renews.
func renewingPostgres(ctx context.Context, s *server, statements int, table *measure.Table) (err error) {
	const name = "bench_renewal"
	config, err := s.connect()
	if err != nil {
		return err
	}
	hasty := config.Copy()
	hasty.RuntimeParams["synchronous_commit"] = "off" // for the setup, which is not measured
	setup, db := stdlib.OpenDB(*hasty), stdlib.OpenDB(*config)
	defer func() {
		_, dropped := setup.ExecContext(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+name)
		err = errors.Join(err, dropped, setup.Close(), db.Close())
	}()
	held, err := acquireAll(ctx, setup, name)
	if err != nil {
		return err
	}
	store, err := ensured(db, name)
	if err != nil {
		return err
	}
	for range statements {
		for _, n := range []int{1, len(held)} {
			from := time.Now()
			kept, err := store.Renew(ctx, "holder", held[:n])
			took := time.Since(from)
			if err != nil {
				return err
			}
			if len(kept) != n {
				return fmt.Errorf("%d of %d leases were renewed", len(kept), n)
			}
			pair := table.Pair(fmt.Sprintf("one statement, %d leases, PostgreSQL", n), "us a lease")
			pair.Ours = append(pair.Ours, float64(took.Nanoseconds())/1e3/float64(n))
		}
	}
	return nil
}

func acquireAll(ctx context.Context, db *sql.DB, table string) ([]lease.Held, error) {
	store, err := ensured(db, table)
	if err != nil {
		return nil, err
	}
	held := make([]lease.Held, thousands)
	for i := range held {
		held[i] = lease.Held{Name: strconv.Itoa(i), Term: 1}
		if _, err := store.Acquire(ctx, lease.Claim{Name: held[i].Name, Holder: "holder", TTL: time.Minute}); err != nil {
			return nil, err // the renewal shows whether it was won
		}
	}
	return held, nil
}
