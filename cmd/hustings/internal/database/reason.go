// Errors of databases, for people.

package database

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Reason returns an error's text on one line, without repetitions: drivers return several
// lines, one for every address that they tried.
func Reason(err error) string {
	switch {
	case missing(err):
		return "there is no table of leases; the first node that serves makes it"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time: " + oneLine(err)
	}
	return oneLine(err)
}

func oneLine(err error) string {
	var said []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.ReplaceAll(strings.Join(said, "; "), ":; ", ": ")
}
