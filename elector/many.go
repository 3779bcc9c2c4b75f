// Many groups at once. An engine with very many groups joins and starts them together: each step
// that waits, such as a save, is taken once for many groups, and none of them needs a goroutine.

package elector

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/hustings/hustings/memberstate"
)

// startedTogether is how many groups are started in one batch. It bounds the memory that a start needs,
// and how long the groups that run already wait for a turn.
const startedTogether = 1024

// JoinAll adds groups to the host, all or none: its error names the first group that cannot join. They take
// part once StartAll is called, or each one's Run or Start.
func (h *Host) JoinAll(groups iter.Seq[GroupConfig]) ([]*Elector, error) {
	var all []*Elector
	for config := range groups {
		e, err := h.Join(config)
		if err != nil {
			for _, joined := range all {
				joined.beginStop()
			}
			return nil, fmt.Errorf("elector: group %q: %w", config.Group, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// StartAll starts all groups that have joined and have not been started, as Start does for one. A group that
// cannot be started ends, and Err says why; all others are started. The error joins the errors of at most ten
// such groups, and counts the rest. If the store does not answer for a detection time, it is ErrStoreSilent, and StartAll goes on
// by itself when the store answers.
func (h *Host) StartAll() error {
	return h.awaitStart(h.start(h.notStarted()...))
}

// start is a start under way.
type start struct {
	done   chan struct{}
	failed failures // once it is done
}

// start starts groups that are marked as being started. It waits as long as the store needs, so it does so beside its caller.
func (h *Host) start(all ...*Elector) *start {
	s := &start{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for batch := range slices.Chunk(all, startedTogether) {
			h.startBatch(batch, &s.failed)
		}
	}()
	return s
}

// awaitStart waits for the end of a start, but not for a store that is silent.
func (h *Host) awaitStart(s *start) error {
	if err := h.await(s.done, nil, h.elapsed()); err != nil {
		return fmt.Errorf("elector: not everything is started yet: %w", err)
	}
	return s.failed.err()
}

// notStarted marks all groups that have joined as being started, and returns them.
func (h *Host) notStarted() (all []*Elector) {
	joined := h.groups()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range joined {
		if h.intake.Start(g) == nil {
			all = append(all, electorOf(g))
		}
	}
	return all
}

// startBatch restores groups, saves the first records of all that are new in one batch, and lets them take part.
func (h *Host) startBatch(batch []*Elector, failed *failures) {
	var restored []*Elector
	var records []memberstate.Record
	for _, e := range batch {
		known, err := e.restore()
		if err != nil {
			failed.add(e, err)
			continue
		}
		if restored = append(restored, e); !known {
			records = append(records, e.group.Record())
		}
	}
	begun := make(chan struct{})
	err := h.saveFirst(records)
	if err == nil && len(restored) > 0 {
		err = h.enter(restored, func() { close(begun) })
	}
	if err != nil {
		for _, e := range restored {
			failed.add(e, err)
		}
		return
	}
	if len(restored) > 0 {
		<-begun
	}
	for _, e := range restored {
		e.runHandlers()
	}
}

// saveFirst saves the first records of groups that the store did not know.
func (h *Host) saveFirst(records []memberstate.Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := h.store.Save(records); err != nil {
		return fmt.Errorf("elector: %s: saving the first hard state: %w", batchName(records), err)
	}
	return nil
}

// mostNamed is how many groups of a batch an error names.
const mostNamed = 4

// batchName names the groups of a batch that has failed as a whole.
func batchName(records []memberstate.Record) string {
	var named []string
	for _, r := range records[:min(mostNamed, len(records))] {
		named = append(named, strconv.Quote(r.Group))
	}
	text := "group " + strings.Join(named, ", ")
	if more := len(records) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return text
}

// failures are the errors of groups that could not be started.
type failures struct {
	first []error
	more  int
}

// mostFailures bounds the errors that are listed.
const mostFailures = 10

// add ends a group that cannot be started.
func (f *failures) add(e *Elector, err error) {
	h := e.Host()
	h.mu.Lock()
	e.finish(err)
	h.mu.Unlock()
	if len(f.first) == mostFailures {
		f.more++
		return
	}
	f.first = append(f.first, err)
}

func (f *failures) err() error {
	switch {
	case len(f.first) == 1:
		return f.first[0]
	case f.more > 0:
		return errors.Join(append(f.first, fmt.Errorf("elector: %d more groups could not be started", f.more))...)
	}
	return errors.Join(f.first...)
}
