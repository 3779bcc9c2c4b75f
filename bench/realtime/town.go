// The lines between members: one from each to each, the same for both sides.

package realtime

import (
	"errors"

	"github.com/hustings/hustings/internal/line"
)

// town has a line from each of its nodes to each other.
type town struct {
	listens map[string]string // where each node does
	lines   map[way]*line.Line
}

// way is from one node to another.
type way struct{ from, to string }

// newTown lays the lines to where the nodes listen.
func newTown(addresses map[string]string) (*town, error) {
	t := &town{addresses, make(map[way]*line.Line)}
	for from := range addresses {
		for to, target := range addresses {
			if from == to {
				continue
			}
			l, err := line.New(target)
			if err != nil {
				return nil, errors.Join(err, t.close())
			}
			t.lines[way{from, to}] = l
		}
	}
	return t, nil
}

// address is where a node finds another one, or itself.
func (t *town) address(from, to string) string {
	if from == to {
		return t.listens[to]
	}
	return t.lines[way{from, to}].Address()
}

// mute has a node fall silent: connections stay, but nothing gets in or out.
func (t *town) mute(node string) {
	for w, l := range t.lines {
		if w.from == node || w.to == node {
			l.Hold()
		}
	}
}

// kill breaks all connections of a node at once, and has new ones refused.
func (t *town) kill(node string) error {
	var problems []error
	for w, l := range t.lines {
		if w.from == node || w.to == node {
			problems = append(problems, l.Sever())
		}
	}
	return errors.Join(problems...)
}

// close ends all lines.
func (t *town) close() error {
	var problems []error
	for _, l := range t.lines {
		problems = append(problems, l.Close())
	}
	return errors.Join(problems...)
}
