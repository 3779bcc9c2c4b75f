package storetest

import (
	"testing"

	"github.com/hustings/hustings/lease/leasetest"
)

// Every store passes package leasetest. SQLite has no connection that could be blocked.
func TestEveryStoreKeepsTheContract(t *testing.T) {
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			s, n := open(t), new(counter)
			subject := leasetest.Subject{Store: s.store(t, s.address, n), Statements: n.statements, Coarse: name == "etcd"}
			if (name == "PostgreSQL" || name == "MariaDB") && clockIsGiven() {
				subject.Step = newServersClock(t).step
			}
			if name != "SQLite" {
				subject.Far = func() leasetest.Far {
					store, line := s.silent(t)
					return leasetest.Far{Store: store, Hold: line.Hold, Resume: line.Resume}
				}
			}
			leasetest.Run(t, subject)
		})
	}
}
