// What counts against a program, and what does not, in virtual time.

package node

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is a node's ability, with a program that runs since now, and an election that asks for it.
type asked struct {
	*ability
	t       *testing.T
	program *voice
	log     strings.Builder
}

const counts = 5 * time.Second

// withAbility plays a test in a bubble.
func withAbility(t *testing.T, play func(a *asked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &asked{t: t}
		a.ability = newAbility(&Config{Notify: true, Alive: "true", Vouch: counts}, slog.New(slog.NewTextHandler(&a.log, nil)))
		require.NoError(t, a.healthy(t.Context()))
		a.program = a.begins(3)
		play(a)
	})
}

// after asks as often as an election does for that long, and returns the last answer. The program says
// something before each time.
func (a *asked) after(long time.Duration, says ...string) (err error) {
	const heartbeat = 100 * time.Millisecond
	for range long / heartbeat {
		<-time.After(heartbeat)
		a.hears(a.program, strings.Join(says, "\n"))
		err = a.healthy(a.t.Context())
	}
	return err
}

func TestAProgramThatFallsSilentIsNotAble(t *testing.T) {
	for _, word := range []string{"READY=1", "WATCHDOG=1", "STATUS=busy\nWATCHDOG=1\nMAINPID=7"} {
		withAbility(t, func(a *asked) {
			require.NoError(a.t, a.after(time.Hour, word))
			require.NoError(a.t, a.after(counts))
			require.ErrorContains(a.t, a.after(100*time.Millisecond), "the program has not said WATCHDOG=1 for more than 5s")
			require.NoError(a.t, a.after(100*time.Millisecond, word))
			require.Error(a.t, a.after(2*counts))
			a.ends()
			require.NoError(a.t, a.after(time.Hour), "nothing runs that could hang")
		})
	}
}

// A program that starts is given time, as long as users are told, until it speaks for the first time.
func TestAProgramIsGivenTimeToStart(t *testing.T) {
	withAbility(t, func(a *asked) {
		require.NoError(a.t, a.after(time.Minute-time.Second, "STATUS=recovering", "WATCHDOG=0", ""))
		require.ErrorContains(a.t, a.after(time.Second), "has not said WATCHDOG=1")
	})
	withAbility(t, func(a *asked) {
		require.NoError(a.t, a.after(time.Second, "READY=1"))
		require.Error(a.t, a.after(counts+time.Second), "it has started")
	})
}

// With a word that counts for longer than a start takes, the word counts.
func TestAWordCountsFromTheStartOfTheProgram(t *testing.T) {
	withAbility(t, func(a *asked) {
		a.hears(a.program, "WATCHDOG_USEC=120000000")
		require.NoError(a.t, a.after(2*time.Minute))
		require.Error(a.t, a.after(time.Second))
	})
}

func TestAProgramThatRefusesToGoOnIsNotAbleAtOnce(t *testing.T) {
	for _, word := range []string{"WATCHDOG=trigger", "STOPPING=1"} {
		withAbility(t, func(a *asked) {
			require.ErrorContains(a.t, a.after(100*time.Millisecond, word), "the program has said "+word)
			require.Error(a.t, a.after(time.Hour, "WATCHDOG=1"), "another part of it may still vouch")
			a.ends()
			require.NoError(a.t, a.after(100*time.Millisecond))
			a.program = a.begins(4)
			require.NoError(a.t, a.after(100*time.Millisecond), "the next one has said nothing")
		})
	}
	withAbility(t, func(a *asked) {
		require.ErrorContains(a.t, a.after(time.Second, "WATCHDOG=trigger", "STOPPING=1"), "WATCHDOG=trigger", "the first reason")
	})
}

// A program may change for how long its word counts, within limits.
func TestAProgramMayChangeItsPeriod(t *testing.T) {
	for period, want := range map[string]time.Duration{
		"10000000": 10 * time.Second, "1": 200 * time.Millisecond, "9223372036854775": 9223372036854775 * time.Microsecond,
		"0": counts, "-1": counts, "": counts, "soon": counts, "9223372036854776": counts, "99999999999999999999": counts,
	} {
		withAbility(t, func(a *asked) {
			require.NoError(a.t, a.after(counts, "WATCHDOG_USEC="+period))
			assert.Equal(a.t, want, a.program.counts, period)
		})
	}
	withAbility(t, func(a *asked) {
		require.NoError(a.t, a.after(counts, "WATCHDOG=1"))
		require.NoError(a.t, a.after(counts))
		a.hears(a.program, "WATCHDOG_USEC=1000000")
		require.NoError(a.t, a.after(time.Second), "it counts from now")
		require.Error(a.t, a.after(100*time.Millisecond))
	})
}

// A node that has not run for a while does not know whether its program has.
func TestAnElectionThatHasNotAskedAccusesNobody(t *testing.T) {
	withAbility(t, func(a *asked) {
		require.NoError(a.t, a.after(time.Second, "WATCHDOG=1"))
		<-time.After(time.Hour)
		require.NoError(a.t, a.after(counts/2))
		require.Error(a.t, a.after(time.Second))
	})
}

// A program that was asked to end has better things to do than to vouch for itself. But the same
// program leads on if it does not end, and what it did before still counts.
func TestAProgramThatEndsAsItWasAskedToIsNotAccused(t *testing.T) {
	failed := errors.New("exit status 7")
	withAbility(t, func(a *asked) {
		a.answers(a.program, nil)
		require.NoError(a.t, a.after(time.Second, "WATCHDOG=1"))
		a.excuse(true)
		require.NoError(a.t, a.after(time.Hour))
		require.NoError(a.t, a.after(time.Second, "STOPPING=1"))
		a.answers(a.program, failed)
		require.NoError(a.t, a.after(time.Second))
		a.excuse(false)
		require.NoError(a.t, a.after(counts))
		require.Error(a.t, a.after(time.Second), "it has not ended")
		a.excuse(true)
		require.Error(a.t, a.after(time.Second))
		require.ErrorContains(a.t, a.after(time.Second, "WATCHDOG=trigger"), "trigger")
	})
	withAbility(t, func(a *asked) {
		a.answers(a.program, nil)
		a.answers(a.program, failed)
		a.excuse(true)
		require.ErrorIs(a.t, a.after(time.Second), failed)
		a.ends()
		require.ErrorIs(a.t, a.after(time.Second), failed, "until the command says otherwise")
		a.excuse(true) // it has ended just now
		a.answers(nil, nil)
		require.NoError(a.t, a.after(time.Second))
	})
}

// The command answers for a node without a program, too.
func TestTheCommandAnswersForEveryNode(t *testing.T) {
	failed := errors.New("exit status 7")
	withAbility(t, func(a *asked) {
		a.ends()
		a.answers(nil, failed)
		require.EqualError(a.t, a.after(time.Second), "the command of --alive has failed while no program runs here: exit status 7")
		a.answers(nil, nil)
		require.NoError(a.t, a.after(time.Second))
		a.asks()
		require.NoError(a.t, a.after(counts))
		require.EqualError(a.t, a.after(time.Second), "the command of --alive has not ended within 5s")
		a.answers(nil, nil)
		require.NoError(a.t, a.after(time.Hour))
	})
}

// A command that has hung before the program was started does not hang because of the program.
func TestACommandThatHangsIsNoSignOfAStart(t *testing.T) {
	withAbility(t, func(a *asked) {
		a.ends()
		a.asks()
		require.NoError(a.t, a.after(time.Second))
		a.program = a.begins(4)
		require.NoError(a.t, a.after(counts-time.Second))
		require.ErrorContains(a.t, a.after(time.Second), "has not ended within 5s")
	})
}

func TestTheCommandAnswersForAProgram(t *testing.T) {
	failed := errors.New("exit status 7")
	withAbility(t, func(a *asked) {
		a.answers(a.program, failed)
		require.NoError(a.t, a.after(time.Second), "it starts")
		a.asks()
		require.NoError(a.t, a.after(2*counts), "it starts")
		a.answers(a.program, nil)
		require.NoError(a.t, a.after(time.Second, "WATCHDOG=1"))
		a.answers(a.program, failed)
		require.EqualError(a.t, a.after(time.Second, "WATCHDOG=1"), "the command of --alive has failed: exit status 7")
		a.answers(a.program, nil)
		require.NoError(a.t, a.after(time.Second, "WATCHDOG=1"))
		a.asks()
		require.ErrorContains(a.t, a.after(counts+time.Second, "WATCHDOG=1"), "has not ended within 5s")
	})
	withAbility(t, func(a *asked) {
		require.NoError(a.t, a.after(startTime, "WATCHDOG=1"))
		a.answers(a.program, failed)
		require.ErrorIs(a.t, a.after(time.Second, "WATCHDOG=1"), failed, "it has had its time")
	})
}

// An answer is not counted for another state than the one that the command was asked about.
func TestAnAnswerAboutAnotherStateDoesNotCount(t *testing.T) {
	failed := errors.New("exit status 7")
	withAbility(t, func(a *asked) {
		a.answers(nil, failed)
		require.NoError(a.t, a.after(time.Second))
		before := a.program
		a.ends()
		a.answers(before, failed)
		require.NoError(a.t, a.after(time.Second))
		a.answers(nil, failed)
		require.ErrorIs(a.t, a.after(time.Second), failed)
		a.answers(before, nil)
		require.ErrorIs(a.t, a.after(time.Second), failed, "and it stays until there is another one")
		a.asks()
		a.answers(before, nil)
		a.answers(nil, nil)
		require.NoError(a.t, a.after(2*counts), "the command that was ended is not taken for hanging")
	})
}

// Whoever reads the log finds the reason, once.
func TestAReasonIsLoggedOnce(t *testing.T) {
	withAbility(t, func(a *asked) {
		require.NoError(a.t, a.after(time.Second, "WATCHDOG=1"))
		assert.Empty(a.t, a.log.String())
		require.Error(a.t, a.after(2*counts))
		assert.Equal(a.t, 1, strings.Count(a.log.String(), "level=WARN"))
		assert.Contains(a.t, a.log.String(), "this node is not able to lead")
		assert.Contains(a.t, a.log.String(), "has not said WATCHDOG=1")
		require.NoError(a.t, a.after(time.Second, "WATCHDOG=1"))
		assert.Equal(a.t, 1, strings.Count(a.log.String(), "level=INFO"))
		assert.Equal(a.t, 2, strings.Count(a.log.String(), "\n"))
	})
}

// The command runs anew as soon as a program has begun or ended.
func TestAChangeIsNoticed(t *testing.T) {
	withAbility(t, func(a *asked) {
		assert.Len(a.t, a.changed, 1)
		<-a.changed
		a.ends()
		assert.Len(a.t, a.changed, 1)
		a.begins(4) // it does not wait until the command has noticed
		assert.Equal(a.t, "4", a.voice.inTerm())
		a.ends()
		assert.Empty(a.t, a.voice.inTerm())
	})
	assert.Nil(t, newAbility(&Config{Vouch: counts}, nil), "nothing vouches for anything")
	(*ability)(nil).excuse(true)
}

// A word that counts for the shortest time is asked for only twice in it, or a little less often.
func TestTheShortestWordRunsOut(t *testing.T) {
	withAbility(t, func(a *asked) {
		a.hears(a.program, "WATCHDOG=1")
		for range 3 {
			require.NoError(a.t, a.healthy(a.t.Context()))
			<-time.After(counts/2 + time.Second)
		}
		require.Error(a.t, a.healthy(a.t.Context()))
	})
}

// The election, the program, its command and those who read the node's pages come when they like, each in a goroutine of
// its own. This is for the race detector.
func TestAbilityIsAskedWhileThingsChange(t *testing.T) {
	a := newAbility(&Config{Notify: true, Alive: "true", Vouch: counts}, slog.New(slog.DiscardHandler))
	beside := func(all ...func()) {
		var doing sync.WaitGroup
		for _, does := range slices.Concat(all, all) { // each may come while the same is under way, too
			doing.Go(func() {
				for range 100 {
					does()
				}
			})
		}
		doing.Wait()
	}
	healthy, unable := func() { assert.NoError(t, a.healthy(t.Context())) }, func() { assert.False(t, a.unable()) }
	program := a.begins(3)
	beside(healthy, unable,
		func() { a.hears(program, "WATCHDOG=1\nWATCHDOG_USEC=9000000") },
		func() { a.answers(a.asks(), nil) },
		func() { a.excuse(true) },
	)
	beside(healthy, unable, func() { a.begins(4) }, a.ends, func() { a.answers(a.asks(), nil) }, func() { a.excuse(true) })
}
