// What was measured, for scripts and for people.

package stress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Report is what a run has measured. What it did not come to is nil.
type Report struct {
	Groups    int     `json:"groups"`
	Nodes     int     `json:"nodes"`
	Wire      string  `json:"wire"`
	Heartbeat float64 `json:"heartbeat_seconds"`
	Detection float64 `json:"detection_seconds"` // a leader that is silent for so long is taken for dead
	NodeBeats bool    `json:"node_beats"`
	Leases    bool    `json:"leases"`
	Start     *Start  `json:"start,omitempty"`
	Idle      *Idle   `json:"idle,omitempty"`
	Death     *Death  `json:"death,omitempty"`
	Complete  bool    `json:"complete"`
	Stopped   string  `json:"stopped,omitempty"` // why it is not complete
}

// Start is the time from the first group that joins until all have leaders.
type Start struct {
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"`
	Messages uint64  `json:"messages"`
}

// Idle is what groups cost in which nothing happens, of all nodes together.
type Idle struct {
	Seconds  float64 `json:"seconds"` // for how long that was measured
	CPU      float64 `json:"cpu_seconds_per_second"`
	Bytes    float64 `json:"bytes_per_group_and_node"` // heap and stacks, without names and stores
	Messages float64 `json:"messages_per_second"`
	Beats    float64 `json:"beats_per_second"` // and their answers
}

// Death is what happened after a node had died. Times are from its death until all living nodes knew the same
// new leader.
type Death struct {
	Node   string         `json:"node"`
	Groups int            `json:"groups"` // that it led
	Led    int            `json:"led_again"`
	Mean   Took           `json:"mean"`
	P99    Took           `json:"p99"`
	Last   Took           `json:"last"`
	CPU    float64        `json:"cpu_seconds"`
	Leads  map[string]int `json:"leads"` // by living node
	Uneven float64        `json:"most_over_mean"`
}

// Took is a time in seconds, and in detection times.
type Took struct {
	Seconds    float64 `json:"seconds"`
	Detections float64 `json:"detections"`
}

func newReport(o *Options) *Report {
	r := &Report{
		Groups: o.Groups, Nodes: o.Nodes, Wire: "memory", Heartbeat: o.Timing.Heartbeat.Seconds(), Detection: o.Timing.Detection().Seconds(),
		NodeBeats: !o.NoNodeBeats, Leases: o.Leases,
	}
	if o.TCP {
		r.Wire = "tcp"
	}
	return r
}

func newDeath(t *tracker, dead int, detection, cpu time.Duration) *Death {
	took, lost := t.after()
	slices.Sort(took)
	d := &Death{Node: nodeNames(t.nodes)[dead], Groups: lost, Led: len(took), CPU: cpu.Seconds(), Leads: make(map[string]int)}
	most, all := 0, 0
	for node, leads := range t.leads() {
		if node != dead {
			d.Leads[nodeNames(t.nodes)[node]] = leads
			most, all = max(most, leads), all+leads
		}
	}
	if all > 0 {
		d.Uneven = float64(most) * float64(t.nodes-1) / float64(all)
	}
	if len(took) == 0 {
		return d
	}
	var sum time.Duration
	for _, one := range took {
		sum += one
	}
	in := func(took time.Duration) Took { return Took{took.Seconds(), took.Seconds() / detection.Seconds()} }
	d.Mean, d.P99, d.Last = in(sum/time.Duration(len(took))), in(took[(len(took)*99-1)/100]), in(took[len(took)-1])
	return d
}

// Print writes the report for people.
func (r *Report) Print(to io.Writer) error {
	var text strings.Builder
	line := func(what, format string, figures ...any) {
		fmt.Fprintf(&text, "  %-24s", what)
		fmt.Fprintf(&text, format+"\n", figures...)
	}
	fmt.Fprintln(&text, r.title())
	if s := r.Start; s != nil {
		fmt.Fprintf(&text, "\nStart: every group has a leader\n")
		line("after", "%.2f s", s.Seconds)
		line("CPU time", "%.2f s", s.CPU)
		line("messages", "%d", s.Messages)
	}
	if i := r.Idle; i != nil {
		fmt.Fprintf(&text, "\nIdle, for %.1f s\n", i.Seconds)
		line("CPU time", "%.4f s in a second, of all nodes together", i.CPU)
		line("memory", "%.0f bytes for a group at one node, without names and stores", i.Bytes)
		line("messages", "%.1f a second", i.Messages)
		line("beats between nodes", "%.1f a second, with their answers", i.Beats)
	}
	if d := r.Death; d != nil {
		d.print(&text, line)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

func (r *Report) title() string {
	title := fmt.Sprintf("%d groups on %d nodes in this process, connected ", r.Groups, r.Nodes)
	if r.Wire == "tcp" {
		title += "by gRPC over loopback"
	} else {
		title += "in memory"
	}
	title += fmt.Sprintf(".\nA heartbeat is %s. T is %s: a leader that is silent for so long is taken for dead.", seconds(r.Heartbeat), seconds(r.Detection))
	if !r.NodeBeats {
		title += "\nEvery group beats by itself."
	}
	if r.Leases {
		title += "\nLeaders hold leases."
	}
	return title
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (d *Death) print(text *strings.Builder, line func(what, format string, figures ...any)) {
	fmt.Fprintf(text, "\nNode %s, which led %d groups, died without a word; until the others knew a new leader\n", d.Node, d.Groups)
	for _, t := range []struct {
		what string
		took Took
	}{{"mean", d.Mean}, {"99 of 100 groups", d.P99}, {"the last group", d.Last}} {
		if d.Led > 0 {
			line(t.what, "%.3f s = %.2f T", t.took.Seconds, t.took.Detections)
		}
	}
	if d.Led < d.Groups {
		line("still without a leader", "%d groups", d.Groups-d.Led)
	}
	line("CPU time", "%.2f s", d.CPU)
	var leads []string
	for node, count := range d.Leads {
		leads = append(leads, fmt.Sprintf("%s %d", node, count))
	}
	slices.Sort(leads)
	line("now lead", "%s groups; the most loaded node %.2f times the mean", strings.Join(leads, ", "), d.Uneven)
}
