// Scenarios: stories in testdata/*.txt that are played on the stage. A line is a
// command; what happens during it follows, each line with ">". To write the
// lines anew after a change: go test ./elector -run TestScenarios -update

package protocol

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

var update = flag.Bool("update", false, "write what happens into the scenarios")

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			told, err := os.ReadFile(file)
			require.NoError(t, err)
			played := (&player{t: t}).play(string(told))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(played), 0o644))
				return
			}
			require.Equal(t, string(told), played)
		})
	}
}

// player plays one scenario.
type player struct {
	t     *testing.T
	stage *stage
	out   strings.Builder
}

// play carries the commands out and returns them with what happened.
func (p *player) play(script string) string {
	lines := bufio.NewScanner(strings.NewReader(script))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if strings.HasPrefix(line, ">") {
			continue
		}
		fmt.Fprintln(&p.out, line)
		command, _, _ := strings.Cut(line, "#")
		if words := strings.Fields(command); len(words) > 0 {
			p.command(number, words[0], words[1:])
		}
	}
	p.stage.checker.safe()
	return p.out.String()
}

func (p *player) command(line int, name string, args []string) {
	p.t.Helper()
	if name == "group" {
		p.open(args)
		return
	}
	do, ok := commands[name]
	require.Truef(p.t, ok && p.stage != nil, "line %d: cannot %q", line, name)
	require.Lenf(p.t, args, len(do.args), "line %d: %s %s", line, name, strings.Join(do.args, " "))
	do.run(p, args)
}

// open raises the curtain: ids, observers in brackets, and options.
func (p *player) open(args []string) {
	o := stageOptions{seed: 1}
	for _, arg := range args {
		switch key, value, _ := strings.Cut(arg, "="); key {
		case "leases":
			o.leases = true
		case "no-prevote":
			o.noPreVote = true
		case "no-ranks":
			o.noRanks = true
		case "prefer":
			o.preferred = append(o.preferred, value)
		default:
			id := strings.Trim(arg, "[]")
			o.members = append(o.members, memberstate.Member{ID: id, Observer: id != arg})
		}
	}
	p.stage = newStage(p.t, o)
	p.stage.tell = func(format string, args ...any) {
		ms := float64(p.stage.now) / float64(time.Millisecond)
		fmt.Fprintf(&p.out, "> %7.1f  %s\n", ms, fmt.Sprintf(format, args...))
	}
}

// command is one thing that a scenario can order.
type command struct {
	args []string
	run  func(p *player, args []string)
}

var commands = map[string]command{
	"start":   {[]string{"MEMBER"}, func(p *player, a []string) { p.each(a[0], (*actor).start) }},
	"crash":   {[]string{"MEMBER"}, func(p *player, a []string) { p.each(a[0], (*actor).crash) }},
	"run":     {[]string{"TIME"}, func(p *player, a []string) { p.stage.run(p.duration(a[0])) }},
	"delay":   {[]string{"TIME"}, func(p *player, a []string) { p.stage.delay = p.duration(a[0]) }},
	"slow":    {[]string{"TIME"}, func(p *player, a []string) { p.stage.saving = p.duration(a[0]) }},
	"cut":     {[]string{"LINK"}, func(p *player, a []string) { p.links(a[0], func(l *linkState) { l.cut = true }) }},
	"heal":    {[]string{"LINK"}, func(p *player, a []string) { p.links(a[0], func(l *linkState) { l.cut = false }) }},
	"hold":    {[]string{"LINK"}, func(p *player, a []string) { p.links(a[0], func(l *linkState) { l.hold = true }) }},
	"release": {[]string{"LINK"}, (*player).release},
	"isolate": {[]string{"MEMBER"}, func(p *player, a []string) { p.each(a[0], func(x *actor) { p.stage.cutOff(x, true) }) }},
	"rejoin":  {[]string{"MEMBER"}, func(p *player, a []string) { p.each(a[0], func(x *actor) { p.stage.cutOff(x, false) }) }},
	"ledger":  {[]string{"MEMBER", "END"}, (*player).ledger},
	"term":    {[]string{"MEMBER", "TERM"}, (*player).term},
	"stand":   {[]string{"MEMBER"}, func(p *player, a []string) { p.each(a[0], func(x *actor) { x.give(Input{Kind: Stand}) }) }},
	"resign":  {[]string{"MEMBER"}, func(p *player, a []string) { p.each(a[0], func(x *actor) { x.give(Input{Kind: Resign}) }) }},
	"lost":    {[]string{"MEMBER"}, (*player).lost},
	"transfer": {[]string{"MEMBER"}, func(p *player, a []string) {
		p.stage.leader().give(Input{Kind: Transfer, Seat: p.stage.actor(a[0]).rules.Self})
	}},
	"lease": {nil, (*player).lease},
	"show":  {nil, func(p *player, _ []string) { p.each("all", func(x *actor) { x.note("%s", x) }) }},
}

// each does something to a member, or to all.
func (p *player) each(id string, do func(*actor)) {
	if id != "all" {
		do(p.stage.actor(id))
		return
	}
	for _, a := range p.stage.actors {
		do(a)
	}
}

func (p *player) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(p.t, err)
	return d
}

// pair reads a directed link: from->to.
func (p *player) pair(text string) (from, to *actor) {
	a, b, ok := strings.Cut(text, "->")
	require.True(p.t, ok, "a link is from->to, not %q", text)
	return p.stage.actor(a), p.stage.actor(b)
}

func (p *player) links(text string, do func(*linkState)) { do(p.stage.link(p.pair(text))) }

func (p *player) release(args []string) { p.stage.release(p.pair(args[0])) }

// ledger sets where a member's ledger ends: term:index.
func (p *player) ledger(args []string) {
	term, index, ok := strings.Cut(args[1], ":")
	require.True(p.t, ok, "a ledger ends at term:index, not at %q", args[1])
	p.stage.actor(args[0]).ledger = memberstate.Position{Term: memberstate.Term(p.number(term)), Index: p.number(index)}
}

// term sets what the disk of a member that is down has kept.
func (p *player) term(args []string) {
	a := p.stage.actor(args[0])
	require.False(p.t, a.alive)
	a.disk.Term = memberstate.Term(p.number(args[1]))
}

func (p *player) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(p.t, err)
	return n
}

// lost tells all members that the process of one is gone.
func (p *player) lost(args []string) {
	gone := p.stage.actor(args[0])
	for _, a := range p.stage.actors {
		if a != gone {
			a.give(Input{Kind: PeerLost, Seat: gone.rules.Self})
		}
	}
}

// lease tells who holds one, and until when by true time.
func (p *player) lease([]string) {
	for _, a := range p.stage.actors {
		if until, ok := a.lease(); ok {
			a.note("%s holds a lease of term %d until %.1f", a.id, a.machine.Term, float64(until)/float64(time.Millisecond))
		}
	}
}

// lease is until when the member holds a lease.
func (a *actor) lease() (time.Duration, bool) {
	beat := a.machine.LeaseBeat()
	if !a.alive || beat == 0 {
		return 0, false
	}
	t := a.rules.Timing
	until := a.sentBeats[beat] + t.Detection() - t.DriftMargin
	return until, until > a.stage.now
}
