// Whether a node is able to lead, as far as its program can say. The program says so itself, over a
// socket (--notify, notify_linux.go), or a command says it (--alive, alive_linux.go). The election
// asks for the answer all the time: a leader that is not able hands over to a node that is.
//
// A node whose program does not run is able, because there is nothing that could hang. Only the
// command, which runs on every node, may say otherwise.
//
// Two things do not count against a program, because they would move the leadership to a node that
// does no better: that it does not vouch for itself while it starts, and that it stops doing so once
// it was asked to end.

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hustings/hustings/memberstate"
)

// startTime is how long a program may take until it vouches for itself for the first time.
const startTime = time.Minute

// ability is what a node knows about its ability to lead. Without --alive and --notify it has none.
type ability struct {
	command string        // of --alive; empty: none
	notify  bool          // the program has to speak for itself
	counts  time.Duration // how long a word counts
	least   time.Duration // and for how long it has to
	log     *slog.Logger

	mu      sync.Mutex
	voice   *voice        // of the program that runs; nil: none does
	asked   time.Time     // when the command that runs was started; zero: none does
	about   *voice        // the program for which it is to answer
	answer  error         // of the command: the last one that counts
	looked  time.Time     // when healthy was last called
	said    bool          // that this node is not able
	changed chan struct{} // has an element when a program has begun or ended
}

// voice is what a running program has said about itself.
type voice struct {
	term    memberstate.Term
	began   time.Time
	spoke   bool          // it has vouched for itself over the socket
	passed  bool          // the command has vouched for it
	counts  time.Duration // how long its word counts
	heard   time.Time     // when it last vouched for itself
	silent  time.Duration // how long it has not, as far as this node has looked
	refused error         // it has said that it cannot go on
	ending  bool          // it was asked to end, and is being waited for
}

func newAbility(c *Config, log *slog.Logger) *ability {
	if c.Alive == "" && !c.Notify {
		return nil
	}
	return &ability{command: c.Alive, notify: c.Notify, counts: c.Vouch, least: c.leastVouch(), log: log, changed: make(chan struct{}, 1)}
}

// healthy returns nil if this node is able to lead, and why if it is not. The election calls it about
// once a heartbeat. It never waits.
func (a *ability) healthy(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	err := a.obstacle(now)
	a.looked = now
	switch said := err != nil; {
	case said && !a.said:
		a.log.Warn("this node is not able to lead", "error", err)
	case !said && a.said:
		a.log.Info("this node is able to lead again")
	}
	a.said = err != nil
	return err
}

// unable says whether this node was not able to lead when it was asked last.
func (a *ability) unable() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said
}

// obstacle is why this node is not able to lead. The caller holds mu.
func (a *ability) obstacle(now time.Time) error {
	v := a.voice
	if v != nil && a.notify {
		v.listen(now, a.looked)
		switch {
		case v.refused != nil:
			return v.refused
		case v.silent > v.counts && !v.starts(now, v.spoke):
			return fmt.Errorf("the program has not said %s for more than %v", sayAlive, v.counts)
		}
	}
	if !a.asked.IsZero() && now.Sub(a.asked) > a.counts && (v == nil || a.about != v || !v.starts(now, v.passed)) {
		return fmt.Errorf("the command of --alive has not ended within %v", a.counts)
	}
	return a.answer
}

// inTerm is the term in which the program runs; empty without a program.
func (v *voice) inTerm() string {
	if v == nil {
		return ""
	}
	return strconv.FormatUint(uint64(v.term), 10)
}

// listen adds the time since the last look to that for which the program has been silent. If that is long,
// this node has not run, and perhaps the program has not either.
func (v *voice) listen(now, looked time.Time) {
	if v.heard.After(looked) {
		looked = v.heard
	}
	if !v.ending {
		v.silent += min(now.Sub(looked), v.counts/2)
	}
}

// vouches notes that the program has vouched for itself, or asked for more time.
func (v *voice) vouches() { v.heard, v.silent = time.Now(), 0 }

// starts says whether a program may still be starting, because nothing has vouched for it yet.
func (v *voice) starts(now time.Time, vouched bool) bool {
	return !vouched && now.Sub(v.began) < startTime
}

// begins notes that a program is being started.
func (a *ability) begins(term memberstate.Term) *voice {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looked = time.Now()
	a.voice = &voice{term: term, began: a.looked, counts: a.counts}
	a.hasChanged()
	return a.voice
}

// ends notes that no program runs any more.
func (a *ability) ends() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.voice = nil
	a.hasChanged()
}

// hasChanged makes the command run anew, because its last answer was about another state.
func (a *ability) hasChanged() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// excuse says whether the program was asked to end, and is being waited for. The zero ability has no
// program.
func (a *ability) excuse(ending bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.voice != nil {
		a.voice.ending = ending
	}
}

// asks notes that the command is being started, and returns the program that it is to answer for.
func (a *ability) asks() *voice {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked, a.about = time.Now(), a.voice
	return a.voice
}

// answers takes the command's answer. If the program has begun or ended meanwhile, it is not known
// what the answer was about.
func (a *ability) answers(about *voice, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.asked = time.Time{}
	switch v := a.voice; {
	case v != about:
	case err == nil:
		a.answer = nil
		if v != nil {
			v.passed = true
		}
	case v == nil:
		a.answer = fmt.Errorf("the command of --alive has failed while no program runs here: %w", err)
	case !v.ending && !v.starts(now, v.passed):
		a.answer = fmt.Errorf("the command of --alive has failed: %w", err)
	}
}

// What a program says about itself, and the node to the service manager, as systemd's services do.
const (
	sayReady    = "READY=1"
	sayAlive    = "WATCHDOG=1"
	sayTrigger  = "WATCHDOG=trigger"
	sayStopping = "STOPPING=1"
	sayPeriod   = periodVariable
)

// hears takes a message of the program, which has a line for each thing that it says. What means
// nothing to a node is ignored, as systemd ignores what it does not know.
func (a *ability) hears(v *voice, message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for line := range strings.SplitSeq(message, "\n") {
		period, isPeriod := strings.CutPrefix(line, sayPeriod)
		switch {
		case line == sayReady || line == sayAlive:
			v.spoke = true
			v.vouches()
		case line == sayTrigger:
			v.refused = errors.New("the program has said " + sayTrigger)
		case line == sayStopping && !v.ending && v.refused == nil:
			v.refused = errors.New("the program has said " + sayStopping)
		case isPeriod:
			if n, err := strconv.ParseInt(period, 10, 64); err == nil && n > 0 && n <= math.MaxInt64/int64(time.Microsecond) {
				v.counts = max(time.Duration(n)*time.Microsecond, a.least)
				v.vouches()
			}
		}
	}
}
