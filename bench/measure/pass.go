// Time that passes between two measurements.

package measure

import (
	"context"
	"time"
)

// Pass lets time pass, unless the context ends before.
func Pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
