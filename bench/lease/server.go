// The PostgreSQL of the measurements: a private one, started by the script that starts those of
// the stores' tests.

package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hustings/hustings/lease/sqllease"
)

const (
	variable = "HUSTINGS_TEST_POSTGRES"
	script   = "../../lease/internal/storetest/with"
)

// server is started at its first use.
type server struct {
	once    sync.Once
	config  *pgx.ConnConfig
	problem error

	input   io.Closer // nil: it was not started here
	process *exec.Cmd
}

// connect returns the configuration of a connection to the server, which has a table of leases.
func (s *server) connect() (*pgx.ConnConfig, error) {
	s.once.Do(func() { s.problem = s.start() })
	if s.problem != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", s.problem)
	}
	return s.config.Copy(), nil
}

func (s *server) start() error {
	address := os.Getenv(variable)
	if address == "" {
		var err error
		if address, err = s.launch(); err != nil {
			return err
		}
	}
	var err error
	if s.config, err = pgx.ParseConfig(address); err != nil {
		return err
	}
	db := stdlib.OpenDB(*s.config)
	_, err = ensured(db, "")
	return errors.Join(err, db.Close())
}

// launch starts a server that lives until its input ends. It is in a process group of its own,
// so that an interrupt at the terminal does not end it before the measurement.
func (s *server) launch() (address string, err error) {
	s.process = exec.Command("bash", script, "postgres", "--", "sh", "-c", "echo $"+variable+"; exec cat > /dev/null")
	s.process.Stderr = os.Stderr
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.input, err = s.process.StdinPipe()
	if err != nil {
		return "", err
	}
	output, err := s.process.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := s.process.Start(); err != nil {
		return "", err
	}
	address, err = bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s: %w", script, errors.Join(err, s.process.Wait()))
	}
	return strings.TrimSpace(address), nil
}

// stop ends the server, if it was started here.
func (s *server) stop() {
	if s.input != nil {
		_ = s.input.Close() // and with it the script, which cleans up
		_ = s.process.Wait()
	}
}

// ensured returns a store in a table, which is made if it is missing. An empty name stands for
// the default table.
func ensured(db *sql.DB, table string) (*sqllease.Store, error) {
	store, err := sqllease.New(sqllease.Config{DB: db, Dialect: sqllease.PostgreSQL, Table: table})
	if err != nil {
		return nil, err
	}
	err = store.EnsureSchema(context.Background())
	return store, err
}
