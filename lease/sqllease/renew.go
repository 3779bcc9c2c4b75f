// Renewing: one statement, which waits for no lock. A record that it leaves out, because it is
// locked by another, must not be taken for lost.

package sqllease

import (
	"context"
	"encoding/json"

	"github.com/hustings/hustings/lease"
)

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, holder string, held []lease.Held) (kept []string, err error) {
	if len(held) == 0 {
		return nil, nil
	}
	kept, n, err := s.renewOnce(ctx, holder, held)
	if n == len(held) || err != nil || s.dialect.still == "" {
		return kept, err
	}
	some := n > 0
	still, err := names(ctx, s.db, &s.still, tenures(holder, held))
	if err != nil {
		return nil, err
	}
	held = those(held, still)
	if some && !s.dialect.returning {
		if kept, err = s.renewApart(ctx, holder, held); err != nil {
			return nil, err
		}
	}
	if locked := namesWithout(held, kept); len(locked) > 0 {
		return kept, &lease.LockedError{Names: locked}
	}
	return kept, nil
}

// renewOnce sends the statement. It returns how many leases were kept, and their names if the
// dialect is returning or all were kept.
func (s *Store) renewOnce(ctx context.Context, holder string, held []lease.Held) (kept []string, n int, err error) {
	given := tenures(holder, held)
	if s.dialect.returning {
		kept, err = names(ctx, s.db, &s.renew, given)
		return kept, len(kept), err
	}
	changed, err := s.exec(ctx, &s.renew, given)
	if changed == int64(len(held)) {
		kept = namesWithout(held, nil)
	}
	return kept, int(changed), err
}

// renewApart renews leases in ever smaller parts, until in each part either all or none were
// kept.
func (s *Store) renewApart(ctx context.Context, holder string, held []lease.Held) (kept []string, err error) {
	kept, n, err := s.renewOnce(ctx, holder, held)
	if n == len(held) || n == 0 || err != nil {
		return kept, err
	}
	for _, part := range [][]lease.Held{held[:len(held)/2], held[len(held)/2:]} {
		more, err := s.renewApart(ctx, holder, part)
		if err != nil {
			return nil, err
		}
		kept = append(kept, more...)
	}
	return kept, nil
}

// tenures returns the arguments of a statement about a holder's leases.
func tenures(holder string, held []lease.Held) arguments {
	type tenure struct {
		Name string `json:"name"`
		Term int64  `json:"term"`
	}
	all := make([]tenure, len(held))
	for i, h := range held {
		all[i] = tenure{h.Name, int64(h.Term)}
	}
	list, _ := json.Marshal(all) // texts and numbers cannot fail
	return arguments{"holder": holder, "held": string(list)}
}

// those returns the leases with some names, namesWithout the names of the others.
func those(held []lease.Held, names []string) (found []lease.Held) {
	named := set(names)
	for _, h := range held {
		if named[h.Name] {
			found = append(found, h)
		}
	}
	return found
}

func namesWithout(held []lease.Held, names []string) (others []string) {
	named := set(names)
	for _, h := range held {
		if !named[h.Name] {
			others = append(others, h.Name)
		}
	}
	return others
}

func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}
