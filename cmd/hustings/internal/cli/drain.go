// Taking a node out of service, and back into it.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/operator"
	"github.com/hustings/hustings/rpc"
)

// drainFlags are the flags of drain and undrain.
type drainFlags struct {
	operation
	process
	wait     time.Duration
	keep     bool
	inFlight uint32
}

func newDrain() *cobra.Command {
	var f drainFlags
	cmd := f.ofNodes("drain", "Have a node hand over all groups that it leads, before it is stopped", `  hustings drain -a 10.0.0.1:7000
  hustings drain -a 10.0.0.1:7000 --wait 5m --json
  hustings drain -a 10.0.0.1:7000 --keep --in-flight 16`, 5*time.Second, f.drain)
	cmd.Long = `Have a node hand over all groups that it leads, and lead nothing more until it is
started again, or "hustings undrain". With --keep only "hustings undrain" ends it: the
node remembers it in its store, for a machine that is started several times while it is
repaired. It votes and follows as ever. Service goes on: each group is
handed over to a voter that has caught up, at a node that serves, many at a time.

The node goes on draining when this command ends, however it ends. A node that
is protected does not begin before "hustings protect off". A group that nobody can
take over is led on, and tried again. Voters that have not caught up are waited for. Nobody
is waited for if no other voter answers, or if those that do are not able to lead, for
example because their nodes are draining, too.

On a terminal its progress is shown once a second. The exit code is 0 if the node leads
nothing, 3 if it still leads groups when the time is up, which are listed with what to do
about it, and 1 if it could not be told to drain, or to stay drained.`
	flags := cmd.Flags()
	flags.DurationVar(&f.wait, "wait", time.Minute, "how much `time` to wait until the node leads nothing")
	flags.Uint32Var(&f.inFlight, "in-flight", protocol.UsualMoves, "how many groups, `n`, are handed over at a time; nodes of older versions hand over 128")
	flags.BoolVar(&f.keep, "keep", false, "drained also after the node is started again, until hustings undrain")
	f.ofOneNode(cmd)
	return cmd
}

func newUndrain() *cobra.Command {
	var f drainFlags
	cmd := f.ofNodes("undrain", "Have a node that was drained take its share of leading again", `  hustings undrain -a 10.0.0.1:7000`, 5*time.Second, f.undrain)
	cmd.Long = `Have a node that was drained take its share of leading again. Nothing is fetched back: it
is handed groups, and elected, from now on. A node that is started again needs no undrain,
unless it was drained with --keep. One that is still starting serves when its engine is ready.`
	f.ofOneNode(cmd)
	return cmd
}

// ofOneNode adds what the commands share.
func (f *drainFlags) ofOneNode(cmd *cobra.Command) {
	cmd.Flags().Lookup("address").Usage = "the `host:port` of the node"
	f.addProcess(cmd)
}

// dial connects to the one node that the command is about.
func (f *drainFlags) dial() (*operator.Client, func(), error) {
	if len(f.addresses) != 1 {
		return nil, nil, usageError{fmt.Errorf("--address names %d nodes, want one", len(f.addresses))}
	}
	files, err := f.files()
	if err != nil {
		return nil, nil, err
	}
	c, err := operator.Dial(f.addresses[0], files)
	if err != nil {
		return nil, nil, err
	}
	return c.ForProcess(f.incarnation), func() { _ = c.Close() }, nil // the answer was read, or another error says why not
}

func (f *drainFlags) undrain(ctx context.Context, cmd *cobra.Command, _ []string) error {
	c, done, err := f.dial()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if err := c.Undrain(ctx); err != nil {
		return err
	}
	now, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	if f.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(shownProgress(c.Address(), &now.Progress))
	}
	does := "takes its share of leading again"
	if now.Progress.Standing.State != rpc.Serving {
		does = "will take its share of leading when its engine is ready"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s at %s %s\n", now.Self, c.Address(), does)
	return err
}

func (f *drainFlags) drain(ctx context.Context, cmd *cobra.Command, _ []string) error {
	switch {
	case f.wait <= 0:
		return usageError{fmt.Errorf("--wait is %v, want more than 0s", f.wait)}
	case f.inFlight < 1 || f.inFlight > math.MaxInt32:
		return usageError{fmt.Errorf("--in-flight is %d, want 1 to %d", f.inFlight, math.MaxInt32)}
	}
	c, done, err := f.dial()
	if err != nil {
		return err
	}
	defer done()
	patient, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const each = time.Second // between two answers
	late := time.AfterFunc(each+f.timeout, func() { cancel(errTooSlow) })
	defer late.Stop()
	lines := cmd.ErrOrStderr()
	p := drainPrinter{out: cmd.OutOrStdout(), lines: lines, watched: isTerminal(lines), asJSON: f.asJSON, address: c.Address(), toldAt: time.Now()}
	paced := c.InFlight(f.inFlight)
	order := paced.Drain
	if f.keep {
		order = paced.DrainAndKeep
	}
	last, err := order(patient, f.wait, func(now elector.Progress) {
		late.Reset(each + f.timeout)
		p.now = now
		p.tick(time.Now())
	})
	if ctx.Err() != nil {
		return p.interrupted()
	}
	p.now = last
	if errors.Is(context.Cause(patient), errTooSlow) {
		err = fmt.Errorf("%s: %w; it drains if it has been told to", c.Address(), errTooSlow)
	}
	return p.end(err)
}

// drainPrinter prints how far a drain has come, and how it ended.
type drainPrinter struct {
	out     io.Writer
	lines   io.Writer // for progress, if somebody watches
	watched bool
	asJSON  bool

	address string
	now     elector.Progress
	told    int // groups that had been handed over at the last line, and when that was
	toldAt  time.Time
	err     error // of out
}

// jsonProgress is the progress of a drain as it is printed with --json; Left and Error are only in the last line.
type jsonProgress struct {
	Address string         `json:"address,omitempty"`
	State   string         `json:"state"`
	Led     int            `json:"led"`
	Waiting int            `json:"waiting"`
	Moving  int            `json:"moving"`
	Moved   int            `json:"moved"`
	Stuck   map[string]int `json:"stuck,omitempty"` // by reason
	// Protected says that the node hands over nothing of its own accord.
	Protected bool `json:"protected,omitempty"`
	// Kept says that it is drained also after it is started again.
	Kept  bool        `json:"kept,omitempty"`
	Left  []jsonStuck `json:"left,omitempty"` // at most 100 for each reason
	Error string      `json:"error,omitempty"`
}

type jsonStuck struct {
	Group  string `json:"group"`
	Reason string `json:"reason"`
	Tries  int    `json:"tries"`
}

func shownProgress(address string, p *elector.Progress) jsonProgress {
	shown := jsonProgress{
		Address: address, State: p.Standing.State.String(), Led: p.Led, Waiting: p.Waiting, Moving: p.Moving, Moved: p.Moved, Protected: p.Protected, Kept: p.Kept,
	}
	for why, groups := range p.Stuck {
		if groups > 0 {
			if shown.Stuck == nil {
				shown.Stuck = make(map[string]int)
			}
			shown.Stuck[protocol.Stuck(why).String()] = groups
		}
	}
	return shown
}

// tick prints progress, for a script or for somebody who watches.
func (p *drainPrinter) tick(at time.Time) {
	switch {
	case p.asJSON:
		p.err = errors.Join(p.err, json.NewEncoder(p.out).Encode(shownProgress(p.address, &p.now)))
	case p.watched:
		_, _ = fmt.Fprintln(p.lines, progressText(&p.now, p.now.Moved-p.told, at.Sub(p.toldAt))) // the drain goes on without
		p.told, p.toldAt = p.now.Moved, at
	}
}

// progressText is "drained 7,312 of 10,000, 4,100/s, 0.7 s left, 3 stuck: 2 behind, 1 no voter", if so many groups have been handed
// over in this time.
func progressText(p *elector.Progress, moved int, in time.Duration) string {
	text := fmt.Sprintf("drained %s of %s", thousands(p.Moved), thousands(p.Moved+p.Led))
	under := p.Led - p.AllStuck()
	if rate := float64(moved) / in.Seconds(); moved > 0 && under > 0 {
		text += fmt.Sprintf(", %s/s, %.1f s left", thousands(int(rate+0.5)), float64(under)/rate)
	}
	if stuck := p.AllStuck(); stuck > 0 {
		var parts []string
		for why, groups := range p.Stuck {
			if groups > 0 {
				parts = append(parts, fmt.Sprintf("%s %v", thousands(groups), protocol.Stuck(why)))
			}
		}
		text += fmt.Sprintf(", %s stuck: %s", thousands(stuck), strings.Join(parts, ", "))
	}
	return text
}

// thousands is a number with a comma after each three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// interrupted is the command's error if its user does not want to wait any longer.
func (p *drainPrinter) interrupted() error {
	goesOn := "which goes on draining"
	if p.now.Standing.State == rpc.Serving { // it has not answered yet
		goesOn = "which drains if it has been told to"
	}
	return unfinishedError{fmt.Errorf("stopped waiting for %s, %s. To have it serve again: hustings undrain -a %s", p.address, goesOn, p.address)}
}

// end prints how the drain ended, and returns the command's error.
func (p *drainPrinter) end(err error) error {
	stuck, isStuck := errors.AsType[*operator.StuckError](err)
	var left []protocol.StuckGroup
	if isStuck {
		left = stuck.Groups
		p.now.Protected = errors.Is(stuck, elector.ErrProtected)
		err = unfinishedError{fmt.Errorf("%s still leads %s, and goes on draining%s", p.address, groupsText(p.now.Led), p.once())}
	}
	switch {
	case p.asJSON:
		p.printLast(err, left)
	case err == nil:
		_, p.err = fmt.Fprintf(p.out, "%s leads nothing now%s: it has handed over %s\n", p.address, p.kept(), groupsText(p.now.Moved))
	case isStuck:
		_, p.err = io.WriteString(p.out, p.leftText(left))
	}
	if err != nil {
		return err
	}
	return p.err
}

// kept says that a node is drained for more than this process.
func (p *drainPrinter) kept() string {
	if !p.now.Kept {
		return ""
	}
	return ", also after a restart"
}

// once says when a node goes on that is protected.
func (p *drainPrinter) once() string {
	if !p.now.Protected {
		return ""
	}
	return " once it is protected no more: hustings protect off -a " + p.address
}

// printLast prints the last line of JSON.
func (p *drainPrinter) printLast(err error, left []protocol.StuckGroup) {
	last := shownProgress(p.address, &p.now)
	for _, g := range left {
		last.Left = append(last.Left, jsonStuck{g.Group, g.Why.String(), g.Tries})
	}
	if err != nil {
		last.Error = err.Error()
	}
	p.err = errors.Join(p.err, json.NewEncoder(p.out).Encode(last))
}

// mostNamed is how many groups are named in the text for each reason.
const mostNamed = 10

// leftText lists the groups that are left, by the reason, with what to do.
func (p *drainPrinter) leftText(left []protocol.StuckGroup) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s has handed over %s, and still leads %s:\n", p.address, groupsText(p.now.Moved), groupsText(p.now.Led))
	if under := p.now.Led - p.now.AllStuck(); under > 0 {
		remedy := "wait longer (--wait)"
		if p.now.Protected {
			remedy = "the node is protected, and hands over nothing until: hustings protect off -a " + p.address
		}
		fmt.Fprintf(&text, "  %s to be handed over: %s\n", groupsText(under), remedy)
	}
	for why, groups := range p.now.Stuck {
		if groups == 0 {
			continue
		}
		var names []string
		for _, g := range left {
			if g.Why == protocol.Stuck(why) {
				names = append(names, g.Group)
			}
		}
		slices.Sort(names)
		more := ""
		if named := min(len(names), mostNamed); named < groups {
			names = names[:named]
			more = fmt.Sprintf(" and %s more", thousands(groups-named))
		}
		fmt.Fprintf(&text, "  %v: %s%s\n    %s\n", protocol.Stuck(why), strings.Join(names, ", "), more, remedies[why])
	}
	fmt.Fprintf(&text, "It leads these groups until others can take over. To have it serve again: hustings undrain -a %s\n", p.address)
	return text.String()
}

// remedies are what to do about groups that are stuck, by the reason.
var remedies = [protocol.Stucks]string{
	protocol.StuckNoVoter:    "no other voter answers: start another node of the group, or mend the network",
	protocol.StuckLeaving:    "the nodes of all voters that answer drain, too, or are starting: undrain one (hustings nodes shows which)",
	protocol.StuckNotAble:    "the voters that answer are not able to lead, or their nodes drain: hustings status and hustings nodes say which",
	protocol.StuckBehind:     "the ledgers of the other voters are behind: wait until they have caught up",
	protocol.StuckRefused:    "the other voters do not follow this leader, or still serve an earlier term: wait, and look at their logs",
	protocol.StuckNotPaused:  "the engine here did not pause its writes in time: look at its log",
	protocol.StuckNotElected: "the voter that was to take over was not elected in time: wait",
	protocol.StuckBusy:       "another handover was under way: wait",
}

func groupsText(n int) string {
	if n == 1 {
		return "1 group"
	}
	return thousands(n) + " groups"
}
