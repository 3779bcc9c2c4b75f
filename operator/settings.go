// The settings of a running node: they count until it restarts.

package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/proto/electorpb"
)

// Settings are how a node takes part in a group.
type Settings struct {
	Node      string
	Timing    elector.Timing
	Preferred []string
	// Electable says that the node leads whenever it is elected, and not only if no other voter can.
	Electable bool
}

// String returns the settings in one line.
func (s Settings) String() string {
	t := s.Timing
	text := fmt.Sprintf("%s: heartbeat %v, leak %d, vote wait %v to %v, round timeout %v, drift margin %v",
		s.Node, t.Heartbeat, t.Leak, t.MinVoteWait, t.MaxVoteWait, t.RoundTimeout, t.DriftMargin)
	if len(s.Preferred) > 0 {
		text += ", preferred " + strings.Join(s.Preferred, " and ")
	}
	if !s.Electable {
		text += ", leads only if no other voter can"
	}
	return text
}

// Changes are changes of settings. The zero value changes nothing.
type Changes struct {
	// Timing holds the intervals to be changed; zero leaves one as it is.
	Timing elector.Timing
	// Preferred, if it is not nil, lists the voters that should lead whenever they can.
	Preferred []string
	// Electable, if it is not nil, says whether the node leads whenever it is elected.
	Electable *bool
}

// Settings changes the settings of the node in a group, and returns them. The intervals are
// changed first, then the preferred voters. If a change is refused, those before it are made, and the
// error names the reason.
func (c *Client) Settings(ctx context.Context, group string, change Changes) (Settings, error) {
	q := &electorpb.SettingsRequest{Group: group, Timing: encodeTiming(change.Timing), Electable: change.Electable, Incarnation: c.incarnation}
	if change.Preferred != nil {
		q.Preferred = &electorpb.Preferred{Ids: change.Preferred}
	}
	answer, err := c.calls.Settings(ctx, q)
	if err != nil {
		return Settings{}, c.explain(err)
	}
	return Settings{
		Node: answer.GetNode(), Timing: decodeTiming(answer.GetTiming()),
		Preferred: answer.GetPreferred().GetIds(), Electable: answer.GetElectable(),
	}, nil
}

// Settings is the node's side.
func (s *service) Settings(ctx context.Context, q *electorpb.SettingsRequest) (*electorpb.SettingsResponse, error) {
	el, err := s.commanded(q.GetGroup(), q.GetIncarnation())
	if err != nil {
		return nil, toStatus(err)
	}
	if err := change(el, q); err != nil {
		if _, wrong := errors.AsType[*elector.ConfigError](err); wrong {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		return nil, toStatus(err)
	}
	report, err := el.Report(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return &electorpb.SettingsResponse{
		Node: report.Self, Timing: encodeTiming(el.Timing()),
		Preferred: &electorpb.Preferred{Ids: el.Preferred()}, Electable: !report.LastChoice,
	}, nil
}

func change(el *elector.Elector, q *electorpb.SettingsRequest) error {
	if wanted := merge(el.Timing(), decodeTiming(q.GetTiming())); wanted != el.Timing() {
		if err := el.SetTiming(wanted); err != nil {
			return err
		}
	}
	if q.GetPreferred() != nil {
		if err := el.SetPreferred(q.GetPreferred().GetIds()...); err != nil {
			return err
		}
	}
	if q.Electable != nil {
		return el.Electable(q.GetElectable())
	}
	return nil
}

// merge returns the intervals with those changes that are not zero.
func merge(t, changes elector.Timing) elector.Timing {
	for _, one := range []struct{ to, from *time.Duration }{
		{&t.Heartbeat, &changes.Heartbeat},
		{&t.MinVoteWait, &changes.MinVoteWait},
		{&t.MaxVoteWait, &changes.MaxVoteWait},
		{&t.RoundTimeout, &changes.RoundTimeout},
		{&t.DriftMargin, &changes.DriftMargin},
	} {
		if *one.from != 0 {
			*one.to = *one.from
		}
	}
	if changes.Leak != 0 {
		t.Leak = changes.Leak
	}
	return t
}

func encodeTiming(t elector.Timing) *electorpb.Timing {
	return &electorpb.Timing{
		HeartbeatNanos: int64(t.Heartbeat), Leak: int64(t.Leak), MinVoteWaitNanos: int64(t.MinVoteWait), MaxVoteWaitNanos: int64(t.MaxVoteWait),
		RoundTimeoutNanos: int64(t.RoundTimeout), DriftMarginNanos: int64(t.DriftMargin),
	}
}

func decodeTiming(t *electorpb.Timing) elector.Timing {
	return elector.Timing{
		Heartbeat: time.Duration(t.GetHeartbeatNanos()), Leak: int(t.GetLeak()),
		MinVoteWait: time.Duration(t.GetMinVoteWaitNanos()), MaxVoteWait: time.Duration(t.GetMaxVoteWaitNanos()),
		RoundTimeout: time.Duration(t.GetRoundTimeoutNanos()), DriftMargin: time.Duration(t.GetDriftMarginNanos()),
	}
}
