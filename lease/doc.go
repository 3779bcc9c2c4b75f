// Package lease elects a leader by a lease in a database.
package lease
