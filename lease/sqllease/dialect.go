// The differences between databases, and how one text becomes a statement of each.

package sqllease

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hustings/hustings/elector"
)

// Dialect is a database's kind of SQL.
type Dialect uint8

const (
	// PostgreSQL is for PostgreSQL, 11 or later.
	PostgreSQL Dialect = iota + 1
	// MySQL is for MariaDB, 10.6 or later, and MySQL, 8.0.4 or later. It is tested
	// with MariaDB only.
	MySQL
	// SQLite is for SQLite, 3.42 or later.
	SQLite
)

func (d Dialect) dialect() *dialect {
	switch d {
	case PostgreSQL:
		return &postgres
	case MySQL:
		return &mysql
	case SQLite:
		return &sqlite
	}
	return nil
}

// dialect describes a Dialect to the store. In its texts {table} is the table, {now} is the
// database's clock in microseconds, {columns} are the columns that a read returns, and :name
// is an argument.
type dialect struct {
	schema string
	now    string
	// commits asks whether every statement commits by itself. Empty: it does.
	commits string
	// read returns the columns of the existing records of :names, a JSON array of
	// texts.
	read string
	// insert makes the record of a lease that has none, and is no error if it has
	// one.
	insert string
	// renew renews those of :held, a JSON array of {name, term}, that :holder
	// holds. It leaves out records that are locked by others, without waiting. If
	// the dialect is returning, it returns the names of the rest.
	renew     string
	returning bool
	// still returns the names of those of :held that :holder holds, including the
	// locked ones. Empty: a writer locks the whole database, so there are none.
	still string
	// numbered is the sign before the number of a placeholder; empty: placeholders
	// have no numbers.
	numbered string
	quotes   string
}

// arguments are the arguments of a statement, by name.
type arguments map[string]any

// statement is SQL with the names of its arguments in the order of their
// placeholders.
type statement struct {
	text  string
	order []string
}

func (st *statement) args(given arguments) []any {
	all := make([]any, len(st.order))
	for i, name := range st.order {
		all[i] = given[name]
	}
	return all
}

var named = regexp.MustCompile(`\B:[a-z]+`)

// compile makes a statement from a text.
func (d *dialect) compile(text, table string) statement {
	text = strings.ReplaceAll(text, "{columns}", columns)
	text = strings.NewReplacer("{table}", table, "{now}", d.now).Replace(text)
	var st statement
	places := map[string]int{}
	st.text = named.ReplaceAllStringFunc(text, func(name string) string {
		name = name[1:]
		if d.numbered == "" || places[name] == 0 {
			st.order = append(st.order, name)
			places[name] = len(st.order)
		}
		return d.placeholder(places[name])
	})
	return st
}

func (d *dialect) placeholder(n int) string {
	if d.numbered == "" {
		return "?"
	}
	return fmt.Sprintf("%s%d", d.numbered, n)
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// quote quotes the name of a table.
func (d *dialect) quote(table string) (string, error) {
	if !identifier.MatchString(table) {
		return "", &elector.ConfigError{Field: "Table", Problem: fmt.Sprintf("is %q, want a name, or a schema and a name with a dot between them", table)}
	}
	return d.quotes + strings.ReplaceAll(table, ".", d.quotes+"."+d.quotes) + d.quotes, nil
}
