// The URL of a database, with and without its password.

package database

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// address is a URL in its parts. Unlike those of net/url it may name several hosts.
type address struct {
	text                                string // the whole URL
	scheme, user, password, hosts, path string
	query                               string
}

// form allows a password only escaped special characters, so that no part of one is taken
// for the host or the path, which are printed. It allows only digits in a port, so that
// user:password without a host is not taken for host:port.
var form = regexp.MustCompile(`^([a-z]+)://(?:([^:/?#@]*)(?::([^:/?#@]*))?@)?(` + host + `(?:,` + host + `)*)(?:/([^?#@]*))?(?:\?([^#@]*))?$`)

const host = `(?:[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?`

// parse takes a URL apart. Its errors contain only the scheme, because the password may be
// anywhere in a malformed URL.
func parse(text string) (address, error) {
	if path, found := strings.CutPrefix(text, "sqlite:"); found {
		path = strings.TrimPrefix(path, "//")
		path, query, _ := strings.Cut(path, "?")
		if path == "" {
			return address{}, fmt.Errorf("sqlite: names no file: want sqlite:PATH")
		}
		return address{scheme: "sqlite", path: path, query: query}, nil
	}
	part := form.FindStringSubmatch(text)
	if part == nil {
		return address{}, fmt.Errorf("not the URL of a database (it begins with %q): want %s, as in postgres://user:password@host:5432/name; special characters in a password are escaped, @ as %%40", beginning(text), Forms)
	}
	a := address{text: text, scheme: part[1], hosts: part[4], path: part[5], query: part[6]}
	for _, field := range []struct {
		to   *string
		from string
	}{{&a.user, part[2]}, {&a.password, part[3]}} {
		var err error
		if *field.to, err = url.PathUnescape(field.from); err != nil {
			return address{}, fmt.Errorf("%s: a %% in the user or the password is not followed by two hexadecimal digits", a.name())
		}
	}
	return a, nil
}

// parameterless refuses an address with parameters, because one that is ignored could have
// been the one that secures the connection. The error contains only their names.
func (a address) parameterless() error {
	if a.query == "" {
		return nil
	}
	var names []string
	for parameter := range strings.SplitSeq(a.query, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		names = append(names, strconv.Quote(name))
	}
	return fmt.Errorf("the URL has parameters that are not known: %s; %s: takes none", strings.Join(names, ", "), a.scheme)
}

// beginning returns the part of a text that cannot contain a password.
func beginning(text string) string {
	scheme, _, found := strings.Cut(text, ":")
	if !found {
		return text[:min(len(text), 1)]
	}
	return scheme + ":"
}

// name returns the URL without password and options.
func (a address) name() string {
	switch {
	case a.scheme == "sqlite":
		return "sqlite:" + a.path
	case a.user != "":
		return fmt.Sprintf("%s://%s@%s/%s", a.scheme, url.PathEscape(a.user), a.hosts, a.path)
	}
	return fmt.Sprintf("%s://%s/%s", a.scheme, a.hosts, a.path)
}
