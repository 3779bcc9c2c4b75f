// Why a call failed, for people: gRPC wraps what the network said in words of its own.

package grpcrpc

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason is why a call failed, in few words.
func Reason(err error) string {
	s := status.Convert(err)
	text := s.Message()
	if inner, wrapped := strings.CutPrefix(text, `connection error: desc = "`); wrapped {
		text = strings.TrimPrefix(strings.TrimSuffix(inner, `"`), "transport: ")
		text = strings.TrimPrefix(text, "Error while dialing: ")
	}
	switch {
	case s.Code() == codes.DeadlineExceeded:
		return "no answer in time"
	case text == "error reading from server: EOF":
		return "the connection broke"
	case strings.Contains(text, "error reading server preface"):
		return text + " (does the node expect TLS?)"
	}
	return text
}
