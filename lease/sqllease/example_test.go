package sqllease_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/sqllease"
	"github.com/hustings/hustings/memberstate"
)

// This example shares a database between candidates. Your program imports the driver.
func Example() {
	serve := func(ctx context.Context, hostname string) error {
		db, err := sql.Open("pgx", "postgres://user:password@db/app")
		if err != nil {
			return err
		}
		store, err := sqllease.New(sqllease.Config{DB: db, Dialect: sqllease.PostgreSQL})
		if err != nil {
			return err
		}
		if err = store.EnsureSchema(ctx); err != nil { // the first candidate makes the table
			return err
		}
		el, err := lease.New(lease.KeeperConfig{Self: hostname, Store: store, Timing: lease.DefaultTiming()}, lease.GroupConfig{
			Name: "reports",
			Lead: func(ctx context.Context, term memberstate.Term) error {
				return writeReports(ctx, db, term) // until ctx ends; every write is guarded with term
			},
		})
		if err != nil {
			return err
		}
		return el.Run(ctx) // until ctx ends
	}
	fmt.Println(serve(context.Background(), "host-1"))
}

func writeReports(ctx context.Context, _ *sql.DB, _ memberstate.Term) error {
	<-ctx.Done()
	return nil
}
