// Why a call failed, for people: gRPC wraps what the network said in words of its own.

package grpcrpc

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// preface is what gRPC was about to read when the other side broke off.
const preface = "error reading server preface"

// Reason is why a call failed, in few words.
func Reason(err error) string {
	s := status.Convert(err)
	text := s.Message()
	if quoted, wrapped := strings.CutPrefix(text, "connection error: desc = "); wrapped {
		if inner, err := strconv.Unquote(quoted); err == nil {
			text = inner
		}
		text = strings.TrimPrefix(text, "transport: ")
		text = strings.TrimPrefix(text, "Error while dialing: ")
	}
	switch {
	case s.Code() == codes.DeadlineExceeded:
		return "no answer in time"
	case text == "error reading from server: EOF":
		return "the connection broke"
	case strings.Contains(text, "remote error: tls: "): // an alert
		return "the node refuses the certificate, and its log says why: " + strings.TrimPrefix(text, preface+": ")
	case strings.Contains(text, preface):
		return text + " (does the node expect TLS?)"
	}
	return text
}
