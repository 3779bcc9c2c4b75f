package node

import (
	"context"
	"io"
	"log/slog"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A local node has all settings but those of its own that the caller cannot give to several nodes.
func TestALocalNodeHasAllSettingsOfTheGroup(t *testing.T) {
	var config Config
	all := reflect.ValueOf(&config).Elem()
	for i := range all.NumField() {
		switch field := all.Field(i); field.Kind() {
		case reflect.String:
			field.SetString("given")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(1)
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Chan:
			field.Set(reflect.MakeChan(reflect.ChanOf(reflect.BothDir, field.Type().Elem()), 0).Convert(field.Type()))
		default:
			t.Fatalf("%s is of an unknown kind", all.Type().Field(i).Name)
		}
	}
	local := reflect.ValueOf(config.at(Member{ID: "n1"}, []Member{{ID: "n0"}, {ID: "n1"}}, "data"))
	var without []string
	for i := range local.NumField() {
		if local.Field(i).IsZero() {
			without = append(without, local.Type().Field(i).Name)
		}
	}
	assert.Equal(t, []string{"File", "Listen", "NewIfMissing", "TLS", "TrustNetwork", "HTTP", "Hurry", "Lease", "Name", "TTL", "Strict"}, without)
	assert.Zero(t, local.FieldByName("DrainWait").Elem().Int(), "nobody is left to take over")
	assert.Equal(t, "n1", local.FieldByName("Node").String())
	assert.Equal(t, "data", local.FieldByName("Data").String())
	assert.Equal(t, 2, local.FieldByName("Members").Len())
}

// A problem that each of the nodes would have is reported once, before any starts.
func TestALocalPreferenceNamesOneOfTheNodes(t *testing.T) {
	members, data := []Member{{ID: "n0", Address: "127.0.0.1:1"}, {ID: "n1", Address: "127.0.0.1:2"}}, t.TempDir()
	c := Config{Group: "demo", Preferred: []string{"n1", "n2"}}
	require.ErrorContains(t, c.checkLocal(members, data), `--preferred names "n2", which is none of n0 to n1`)
	c.Preferred = []string{"n1"}
	require.NoError(t, c.checkLocal(members, data))
	c.Group = ""
	require.Error(t, c.checkLocal(members, data))
}

// Whoever looks at it again and again does not fill the disk.
func TestLocalNodesLeaveNothingBehind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP"} {
		t.Setenv(name, dir)
	}
	there := func() (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	require.NoError(t, Local(ctx, 1, Config{Group: "demo"}, NewPrinter(io.Discard, false), slog.New(slog.DiscardHandler), func(Member) {
		assert.Len(t, there(), 1, "their stores")
		stop()
	}))
	assert.Empty(t, there())
}
