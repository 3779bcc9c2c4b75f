// Addresses of processes.

package main

import (
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

// freePorts finds groups of at most four free ports in a row, none of them twice.
func freePorts(groups, inARow int) (firsts []int, err error) {
	for range 1000 {
		if len(firsts) == groups {
			return firsts, nil
		}
		first := 12_000 + rand.IntN(4000)*4 // below those that systems give to connections
		if !slices.Contains(firsts, first) && areFree(first, inARow) {
			firsts = append(firsts, first)
		}
	}
	return nil, errors.New("there are not enough free ports")
}

func areFree(first, inARow int) bool {
	for port := first; port < first+inARow; port++ {
		l, err := net.Listen("tcp", local(port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
