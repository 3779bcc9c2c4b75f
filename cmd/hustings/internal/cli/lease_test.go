package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
	"github.com/hustings/hustings/lease"
	"github.com/hustings/hustings/lease/mem"
)

// listed returns a database with two leases: "jobs" is held by a for an hour, "old" was
// released.
func listed(t *testing.T) (url string) {
	t.Helper()
	url = "sqlite:" + filepath.Join(t.TempDir(), "leases.db")
	db, err := database.Open(url, database.ForCandidates)
	require.NoError(t, err)
	require.NoError(t, db.Prepare(t.Context()))
	for _, name := range []string{"old", "jobs"} {
		won, err := db.Store.Acquire(t.Context(), lease.Claim{Name: name, Holder: "a#1", TTL: time.Hour})
		require.NoError(t, err)
		require.True(t, won)
	}
	require.NoError(t, db.Store.Release(t.Context(), "a#1", lease.Held{Name: "old", Term: 1}))
	require.NoError(t, db.Close())
	return url
}

func TestLeasesAreShown(t *testing.T) {
	url := listed(t)
	lines := succeed(t, "lease", "status", url)
	require.Len(t, lines, 2)
	assert.Regexp(t, `^jobs +term 1 +held by a#1, (1h0m0s|59m59\.\d+s) left of 1h0m0s$`, lines[0])
	assert.Regexp(t, `^old +term 1 +free$`, lines[1])
	var shown shownLease
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "lease", "status", url, "--json", "--name", "jobs")[0]), &shown))
	assert.Positive(t, *shown.Left)
	shown.Left = nil
	assert.Equal(t, shownLease{Name: "jobs", Term: 1, State: "held", Holder: "a#1", TTL: int64(time.Hour)}, shown)
	assert.Contains(t, fail(t, exitFailed, "lease", "status", url, "--name", "jbs"), `there is no lease "jbs"`)
	assert.Contains(t, fail(t, exitFailed, "lease", "status", url+"x"), url+"x: ")
}

// A name cannot control the terminal.
func TestUnprintableNamesAreQuoted(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "leases.db")
	db, err := database.Open(url, database.ForCandidates)
	require.NoError(t, err)
	require.NoError(t, db.Prepare(t.Context()))
	_, err = db.Store.Acquire(t.Context(), lease.Claim{Name: "\x1b[2Jjobs", Holder: "a\rb\u202e#1", TTL: time.Hour})
	require.NoError(t, err)
	require.NoError(t, db.Store.Force(t.Context(), "Überstunden \"1\"", "a\nb"))
	require.NoError(t, db.Close())
	lines := succeed(t, "lease", "status", url)
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], `"\x1b[2Jjobs"`)
	assert.Contains(t, lines[0], `held by "a\rb\u202e#1"`)
	assert.Contains(t, lines[1], `Überstunden "1" `)
	assert.Contains(t, lines[1], `"a\nb" is next`)
	assert.Equal(t, `"\xff"`, printable("\xff"))
}

// Scripts read all that is known of a lease. One that looks twice sees by the renewals whether the holder lives.
func TestALeaseHasAllItsFields(t *testing.T) {
	var out strings.Builder
	o := leaseOperation{asJSON: true, out: &out}
	require.NoError(t, o.show(lease.Record{Name: "jobs", Term: 7, Holder: "a#1", Heir: "b", Renewals: 3, TTL: time.Minute, Left: time.Second}))
	assert.JSONEq(t, `{"name":"jobs","term":7,"state":"held","holder":"a#1","heir":"b","renewals":3,"ttl_nanos":60000000000,"left_nanos":1000000000}`, out.String())
}

// Not every database sorts them.
func TestLeasesAreShownByName(t *testing.T) {
	store := new(mem.Store)
	names := []string{"d", "b", "e", "a", "c", "h", "g", "f"}
	for _, name := range names {
		_, err := store.Acquire(t.Context(), lease.Claim{Name: name, Holder: "x#1", TTL: time.Hour})
		require.NoError(t, err)
	}
	var out strings.Builder
	o := leaseOperation{timeout: enough, db: &database.Database{Store: store}, out: &out, errs: io.Discard}
	require.NoError(t, o.status(t.Context()))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(names))
	assert.IsNonDecreasing(t, lines)
}

// If the store cannot tell how much is left, scripts get null.
func TestTheTimeLeftOfALeaseMayBeUnknown(t *testing.T) {
	for left, says := range map[time.Duration]string{lease.LeftUnknown: `"left_nanos":null`, time.Second: `"left_nanos":1000000000`, -1: `"left_nanos":-1`} {
		var out strings.Builder
		o := leaseOperation{asJSON: true, out: &out}
		require.NoError(t, o.show(lease.Record{Name: "g", Term: 1, Holder: "a#1", TTL: time.Minute, Left: left}))
		assert.Contains(t, out.String(), says)
	}
}

// The output tells a database without leases from one that could not be read.
func TestADatabaseWithoutLeasesSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	assert.Contains(t, fail(t, exitFailed, "lease", "status", "sqlite:"+path), path+": tried to list the leases: there is no table of leases")
	db, err := database.Open("sqlite:"+path, database.ForCandidates)
	require.NoError(t, err)
	require.NoError(t, db.Prepare(t.Context()))
	require.NoError(t, db.Close())
	code, stdout, stderr := run("lease", "status", "sqlite:"+path)
	assert.Equal(t, exitOK, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "there are no leases in sqlite:"+path+"\n", stderr)
}

func TestAWrongURLIsWrongUsage(t *testing.T) {
	for url, says := range map[string]string{
		"foo":                         "not the URL of a database",
		"oracle://h/x":                `is called "oracle"`,
		"etcd://u:p@h:1?tls=true&x=1": `not known: "tls", "x"`,
		"etcd://h:1/leases":           `the path "leases"`,
		"sqlite:x.db?mode=ro":         `not known: "mode"`,
		"redis://h?cluster=true":      "cluster",
		"mysql://h/x?autocommit=0":    `"autocommit"`,
	} {
		assert.Contains(t, fail(t, exitUsage, "lease", "status", url), says)
	}
}

// The error for a server that does not answer names the server, the attempt and the reason,
// on one line.
func TestAServerThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"etcd://127.0.0.1:1":       "etcd://127.0.0.1:1/: tried to list the leases: no answer in time",
		"redis://127.0.0.1:1":      "redis://127.0.0.1:1/: tried to list the leases: dial",
		"postgres://u@localhost:1": "postgres://u@localhost:1/: tried to list the leases: failed to connect",
		"mysql://127.0.0.1:1/x":    "mysql://127.0.0.1:1/x: tried to list the leases: dial",
	} {
		said := fail(t, exitFailed, "lease", "status", url, "--timeout", "1s")
		assert.Contains(t, said, says)
		assert.Equal(t, 1, strings.Count(said, "\n"), said)
		assert.NotContains(t, said, "\t")
	}
}

func TestALeaseIsForced(t *testing.T) {
	url := listed(t)
	assert.Regexp(t, `^jobs +term 2 +held by nobody until .*; b is next$`, succeed(t, "lease", "force", url, "--name", "jobs", "--heir", "b")[0])
	assert.Contains(t, succeed(t, "lease", "status", url, "--name", "jobs", "--json")[0], `"term":2,"state":"forced","heir":"b"`)
	assert.Contains(t, fail(t, exitFailed, "lease", "force", url, "--name", "jbs"), "there is no lease", "a wrong name makes no lease")
	assert.Contains(t, fail(t, exitUsage, "lease", "force", url), "--name is not given")
}

// silent is a store that takes orders and does not answer.
type silent struct{ *mem.Store }

func (silent) Force(ctx context.Context, _, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func (silent) Release(ctx context.Context, _ string, _ lease.Held) error {
	<-ctx.Done()
	return ctx.Err()
}

// Otherwise an operator could not tell a slow database from one that has hung.
func TestAnOrderThatIsNotAnsweredIsGivenUp(t *testing.T) {
	for name, order := range map[string]func(*leaseOperation, context.Context) error{
		"force":   func(o *leaseOperation, ctx context.Context) error { return o.force(ctx, "b") },
		"release": func(o *leaseOperation, ctx context.Context) error { return o.release(ctx, true) },
	} {
		synctest.Test(t, func(t *testing.T) {
			store := silent{new(mem.Store)}
			_, err := store.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: 10 * time.Second})
			require.NoError(t, err)
			o := leaseOperation{name: "jobs", timeout: 3 * time.Second, db: &database.Database{Store: store}, out: io.Discard, errs: io.Discard}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			require.ErrorContains(t, order(&o, ctx), "no answer in time", name)
			assert.NoError(t, ctx.Err(), name)
		})
	}
}

func TestALivingHoldersLeaseIsNotReleasedByAccident(t *testing.T) {
	url := listed(t)
	assert.Contains(t, fail(t, exitUsage, "lease", "release", url, "--name", "jobs"), "held by a#1")
	assert.Contains(t, succeed(t, "lease", "release", url, "--name", "old")[0], "free")
	assert.Contains(t, succeed(t, "lease", "status", url, "--name", "jobs")[0], "held by a#1")
}

// releasing releases a lease of 10 s, of which 8 s are left, while meanwhile runs, and returns
// the lease and how long that took.
func releasing(t *testing.T, meanwhile func(*mem.Store)) (r lease.Record, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := new(mem.Store)
		won, acquireErr := store.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: 10 * time.Second})
		require.NoError(t, acquireErr)
		require.True(t, won)
		<-time.After(2 * time.Second) // virtual time
		o := leaseOperation{name: "jobs", timeout: time.Second, db: &database.Database{Store: store, Waker: store}, out: io.Discard, errs: io.Discard}
		time.AfterFunc(4*time.Second, func() { meanwhile(store) })
		began := time.Now()
		err = o.release(t.Context(), true)
		took = time.Since(began)
		found, readErr := store.Read(t.Context(), []string{"jobs"})
		require.NoError(t, readErr)
		r = found[0]
	})
	return r, took, err
}

func TestADeadHoldersLeaseIsReleasedBeforeItRunsOut(t *testing.T) {
	r, took, err := releasing(t, func(*mem.Store) {})
	require.NoError(t, err)
	assert.True(t, r.Released)
	assert.EqualValues(t, 1, r.Term, "the term stays")
	assert.Equal(t, 5*time.Second, took, "half of its TTL, however much of it is left")
}

func TestALeaseThatIsRenewedIsNotReleased(t *testing.T) {
	r, _, err := releasing(t, func(s *mem.Store) {
		_, err := s.Renew(t.Context(), "a#1", []lease.Held{{Name: "jobs", Term: 1}})
		assert.NoError(t, err)
	})
	assert.ErrorContains(t, err, "the holder is alive")
	assert.False(t, r.Released)
}

func TestALeaseThatChangesHandsIsNotReleased(t *testing.T) {
	r, _, err := releasing(t, func(s *mem.Store) {
		_, err := s.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: time.Hour, Term: 1})
		assert.NoError(t, err)
	})
	assert.ErrorContains(t, err, "changed hands meanwhile")
	assert.False(t, r.Released)
}

// A forced lease of a dead holder can be released, too.
func TestAForcedLeaseIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(mem.Store)
		_, err := store.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: 10 * time.Second})
		require.NoError(t, err)
		require.NoError(t, store.Force(t.Context(), "jobs", "b"))
		var out strings.Builder
		o := leaseOperation{name: "jobs", timeout: time.Second, db: &database.Database{Store: store}, out: &out, errs: io.Discard}
		require.NoError(t, o.release(t.Context(), true))
		assert.Regexp(t, `^jobs +term 2 +free; b is next\n$`, out.String())
	})
}

// Nobody's word is needed for a lease that is free already.
func TestAnExpiredLeaseNeedsNoRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(mem.Store)
		_, err := store.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: 10 * time.Second})
		require.NoError(t, err)
		<-time.After(11 * time.Second)
		var out strings.Builder
		o := leaseOperation{name: "jobs", timeout: time.Second, db: &database.Database{Store: store}, out: &out, errs: io.Discard}
		require.NoError(t, o.release(t.Context(), false))
		assert.Contains(t, out.String(), "free, expired 1s ago; a#1 held it")
	})
}

// waking is a store of leases whose candidates are woken.
type waking struct {
	*mem.Store
	woken []string
	err   error
}

func (w *waking) Wake(_ context.Context, name string) error {
	w.woken = append(w.woken, name)
	return w.err
}

// Candidates need not find out by themselves that a lease is free. If they have to, it is free all the same.
func TestCandidatesAreWokenForALeaseThatIsReleased(t *testing.T) {
	for _, failure := range []error{nil, assert.AnError} {
		synctest.Test(t, func(t *testing.T) {
			w := &waking{Store: new(mem.Store), err: failure}
			_, err := w.Acquire(t.Context(), lease.Claim{Name: "jobs", Holder: "a#1", TTL: 10 * time.Second})
			require.NoError(t, err)
			o := leaseOperation{name: "jobs", timeout: time.Second, db: &database.Database{Store: w.Store, Waker: w}, out: io.Discard, errs: io.Discard}
			err = o.release(t.Context(), true)
			assert.Equal(t, []string{"jobs"}, w.woken)
			if failure == nil {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, "it is free, but candidates were not woken: "+failure.Error())
			}
		})
	}
}

func TestALeaseIsDescribedInWords(t *testing.T) {
	for want, r := range map[string]lease.Record{
		"free":                            {Released: true},
		"free, expired":                   {},
		"free, expired 3s ago; a held it": {Holder: "a", Left: -3 * time.Second},
		"held by a, 2s left of 6s":        {Holder: "a", Left: 2 * time.Second, TTL: 6 * time.Second},
		"held by a, TTL 6s":               {Holder: "a", Left: 1, TTL: 6 * time.Second},
		"held by nobody until its last holder gives it back, or 2s have passed; b is next": {Left: 2 * time.Second, Heir: "b"},
		"held by nobody until its last holder gives it back":                               {Left: 1},
	} {
		assert.Equal(t, want, said(r))
	}
}
