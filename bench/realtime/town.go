// The lines between members: one from each member to each other, the same for both sides.

package realtime

import (
	"errors"

	"github.com/hustings/hustings/internal/line"
)

// town has a line from each of its nodes to each other.
type town struct {
	listens map[string]string // the address of each node
	lines   map[way]*line.Line
}

// way is the way from one node to another.
type way struct{ from, to string }

// newTown makes the lines to the nodes' addresses.
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

// address returns the address at which a node reaches another one, or itself.
func (t *town) address(from, to string) string {
	if from == to {
		return t.listens[to]
	}
	return t.lines[way{from, to}].Address()
}

// mute silences a node: its connections stay, but carry nothing.
func (t *town) mute(node string) {
	for w, l := range t.lines {
		if w.from == node || w.to == node {
			l.Hold()
		}
	}
}

// kill breaks all connections of a node at once, and makes new ones be refused.
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
