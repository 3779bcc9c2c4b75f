//go:build !unix

package node

import "time"

var began = time.Now()

// monotonic is the time since this process began: there is no clock to share.
func monotonic() int64 { return int64(time.Since(began)) }
