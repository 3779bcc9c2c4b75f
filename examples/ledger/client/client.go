// Package client reads and writes from outside. It finds the leader of each shard by the table that the nodes keep, asks
// again when a leader is gone, and has every command carried out once.
package client

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hustings/hustings/examples/ledger/engine"
	"github.com/hustings/hustings/examples/ledger/ledgerpb"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/operator/route"
)

// ErrUnknown is the error of a command that may have been carried out, or may be later: the caller's context ended first.
var ErrUnknown = errors.New("it may have been carried out, or not")

// ErrNothing is the error of a command that was not carried out, and will not be, and of a read without an answer.
var ErrNothing = errors.New("nothing was done")

// Leaders says who leads; [route.Router] does.
type Leaders interface {
	Await(ctx context.Context, group string) (route.Leader, error)
	AwaitNewer(ctx context.Context, group string, term memberstate.Term) (route.Leader, error)
	Refused(group string, term memberstate.Term)
}

// Caller asks one node.
type Caller interface {
	Do(ctx context.Context, node string, r *ledgerpb.Request) (*ledgerpb.Reply, error)
}

// usual is how long most answers take at most. A client that waits for longer looks whether another leader is there.
const usual = 20 * time.Millisecond

// Client asks leaders. Its commands to one shard are carried out one after another; for more at a time use more clients.
type Client struct {
	leaders  Leaders
	caller   Caller
	sessions []session
	patience time.Duration
}

// sessionSize is what a session and a number may add to a command.
const sessionSize = 22

// session is a row of commands to one shard.
type session struct {
	turn   chan struct{} // holds a value while a command is carried out
	id     uint64        // 0: it is not open
	number uint64        // of the last command
}

// New makes a client. Patience is how long it waits for one answer before it asks again.
func New(leaders Leaders, caller Caller, shards uint32, patience time.Duration) *Client {
	c := &Client{leaders: leaders, caller: caller, sessions: make([]session, shards), patience: patience}
	for i := range c.sessions {
		c.sessions[i].turn = make(chan struct{}, 1)
	}
	return c
}

// shardOf is where a key is.
func (c *Client) shardOf(key []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(key) // it never fails
	return h.Sum32() % uint32(len(c.sessions))
}

// Put gives a key a value.
func (c *Client) Put(ctx context.Context, key, value []byte) error {
	_, err := c.command(ctx, key, &ledgerpb.Command{Does: &ledgerpb.Command_Put{Put: &ledgerpb.Put{Key: key, Value: value}}})
	return err
}

// Delete takes a key's value away.
func (c *Client) Delete(ctx context.Context, key []byte) error {
	_, err := c.command(ctx, key, &ledgerpb.Command{Does: &ledgerpb.Command_Delete{Delete: &ledgerpb.Delete{Key: key}}})
	return err
}

// Swap gives a key a value if it has the old one, and says whether it had. As the old one nil is no value.
func (c *Client) Swap(ctx context.Context, key, old, value []byte) (swapped bool, err error) {
	does := &ledgerpb.Swap{Key: key, Old: old, Absent: old == nil, Value: value}
	r, err := c.command(ctx, key, &ledgerpb.Command{Does: &ledgerpb.Command_Swap{Swap: does}})
	return r.GetFound(), err
}

// Get returns the value of a key, and false if it has none. With quorum the leader asks the others, and does not rely on
// its lease.
func (c *Client) Get(ctx context.Context, key []byte, quorum bool) (value []byte, found bool, err error) {
	shard := c.shardOf(key)
	r, err := c.ask(ctx, &ledgerpb.Request{Shard: shard, Asks: &ledgerpb.Request_Read{Read: &ledgerpb.Read{Key: key, Quorum: quorum}}})
	return r.GetValue(), r.GetFound(), err
}

// command has a command carried out in the session of its shard.
func (c *Client) command(ctx context.Context, key []byte, does *ledgerpb.Command) (*ledgerpb.Result, error) {
	if size := proto.Size(does) + sessionSize; size > engine.MaxCommand {
		return nil, fmt.Errorf("%w: the command has %d bytes, and may have %d", ErrNothing, size, engine.MaxCommand)
	}
	shard := c.shardOf(key)
	s := &c.sessions[shard]
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrNothing, context.Cause(ctx))
	}
	was := s.id
	r, err := c.commandOnce(ctx, shard, s, does)
	if was != 0 && errors.Is(err, ErrNothing) && ctx.Err() == nil { // the session has lasted for too long
		s.id = 0
		return c.commandOnce(ctx, shard, s, does)
	}
	return r, err
}

// commandOnce tries it in a session, with a number of its own. If nobody knows whether it was carried out, that is so at most until the next
// command was: smaller numbers are refused then.
func (c *Client) commandOnce(ctx context.Context, shard uint32, s *session, does *ledgerpb.Command) (*ledgerpb.Result, error) {
	if s.id == 0 {
		open := &ledgerpb.Command{Does: &ledgerpb.Command_Open{Open: &ledgerpb.Open{}}}
		r, _, err := c.try(ctx, &ledgerpb.Request{Shard: shard, Asks: &ledgerpb.Request_Command{Command: open}})
		if err != nil { // a session may have been opened, but the command was not sent
			return nil, fmt.Errorf("%w, because no session could be opened: %w", ErrNothing, err)
		}
		s.id, s.number = r.Session, 0
	}
	s.number++
	does.Session, does.Number = s.id, s.number
	return c.ask(ctx, &ledgerpb.Request{Shard: shard, Asks: &ledgerpb.Request_Command{Command: does}})
}

// ask asks leaders until one has answered. The error says what is known of the outcome, and why there was no answer.
func (c *Client) ask(ctx context.Context, r *ledgerpb.Request) (*ledgerpb.Result, error) {
	result, outcome, err := c.try(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", outcome, err)
	}
	return result, nil
}

// try asks leaders until one has answered. Outcome is ErrNothing or ErrUnknown, if there is an error.
func (c *Client) try(ctx context.Context, r *ledgerpb.Request) (_ *ledgerpb.Result, outcome, err error) {
	group, outcome := engine.Group(r.Shard), ErrNothing
	r.Shards = uint32(len(c.sessions))
	for pause := time.Millisecond; ; pause = min(2*pause, c.patience/4) {
		leader, err := c.leaders.Await(ctx, group)
		if err != nil {
			return nil, outcome, err
		}
		reply, err := c.askOnce(ctx, leader, r)
		switch says := reply.GetSays().(type) {
		case *ledgerpb.Reply_Result:
			return says.Result, nil, nil
		case *ledgerpb.Reply_Refused: // an earlier try may have been carried out, and forgotten since
			return nil, outcome, errors.New(says.Refused)
		case *ledgerpb.Reply_NotLeader:
		default:
			if r.GetCommand() != nil {
				outcome = ErrUnknown
			}
		}
		if err != nil || reply.GetNotLeader() != nil {
			c.leaders.Refused(group, leader.Term)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, outcome, context.Cause(ctx)
		}
	}
}

// askOnce asks one leader, and gives it up when another one leads, or when patience is over.
func (c *Client) askOnce(ctx context.Context, leader route.Leader, r *ledgerpb.Request) (*ledgerpb.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	hangs := time.AfterFunc(usual, func() {
		if _, err := c.leaders.AwaitNewer(ctx, engine.Group(r.Shard), leader.Term); err == nil {
			cancel()
		}
	})
	defer hangs.Stop()
	return c.caller.Do(ctx, leader.ID, r)
}
