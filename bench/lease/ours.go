// Our side, over a store in memory and over PostgreSQL.

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
	"github.com/hustings/hustings/lease/sqllease"
	"github.com/hustings/hustings/lease/sqllease/pgxwake"
	"github.com/hustings/hustings/memberstate"
)

// inMemory is our side over a store in memory, without wake-ups, strict or not.
func inMemory(strict bool) side {
	name := "memory"
	if strict {
		name = "memory, strict"
	}
	return side{name, false, func() (enter, error) {
		shared := new(mem.Store)
		return func(ctx context.Context, e entry) (*candidate, error) {
			l := newLink(e.deaf)
			return stand(ctx, l, e, "lease", lease.KeeperConfig{Store: linked{shared, l}, Strict: strict})
		}, nil
	}}
}

// overPostgres is our side over PostgreSQL, with wake-ups.
func overPostgres(s *server) side {
	return side{"PostgreSQL", true, func() (enter, error) {
		config, err := s.connect()
		if err != nil {
			return nil, err
		}
		name := rand.Text()
		return func(ctx context.Context, e entry) (*candidate, error) {
			w, err := newWire(config)
			if err != nil {
				return nil, err
			}
			store, err := sqllease.New(sqllease.Config{DB: w.db, Dialect: sqllease.PostgreSQL})
			if err != nil {
				return nil, errors.Join(err, w.close())
			}
			waker, err := pgxwake.New(w.config, "")
			if err != nil {
				return nil, errors.Join(err, w.close())
			}
			return stand(ctx, w, e, name, lease.KeeperConfig{Store: wired{store, w}, Waker: waker})
		}, nil
	}}
}

// stand lets a candidate of ours take part.
func stand(ctx context.Context, c connection, e entry, name string, config lease.KeeperConfig) (*candidate, error) {
	config.Self, config.Timing = strconv.Itoa(e.number), e.timing.ours()
	el, err := lease.New(config, lease.GroupConfig{Name: name, Lead: func(ctx context.Context, _ memberstate.Term) error {
		e.record.lead(ctx, e.number)
		return nil
	}})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return takePart(ctx, c, func(ctx context.Context) { _ = el.Run(ctx) }), nil // which cannot fail, because it runs once
}

// linked is a store behind a link. It is no Waker.
type linked struct {
	lease.Store
	link *link
}

func (s linked) Read(ctx context.Context, names []string) ([]lease.Record, error) {
	return read(ctx, s.link, func() ([]lease.Record, error) { return s.Store.Read(ctx, names) })
}

func (s linked) Acquire(ctx context.Context, c lease.Claim) (bool, error) {
	return write(ctx, s.link, func() (bool, error) { return s.Store.Acquire(ctx, c) })
}

func (s linked) Renew(ctx context.Context, holder string, held []lease.Held) ([]string, error) {
	return renew(ctx, s.link, len(held), func() ([]string, error) { return s.Store.Renew(ctx, holder, held) })
}

func (s linked) Release(ctx context.Context, holder string, held lease.Held) error {
	_, err := write(ctx, s.link, func() (struct{}, error) { return struct{}{}, s.Store.Release(ctx, holder, held) })
	return err
}
