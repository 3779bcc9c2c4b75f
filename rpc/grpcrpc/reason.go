// The reason of a failed call in plain words, without gRPC's wrapping.

package grpcrpc

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// preface is gRPC's message if the other side closes the connection before HTTP/2 begins.
const preface = "error reading server preface"

// Reason says in few words why a call failed.
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
