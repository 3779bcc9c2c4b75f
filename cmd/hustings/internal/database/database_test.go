package database_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/cmd/hustings/internal/database"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestADatabaseIsNamedWithoutItsPassword(t *testing.T) {
	for url, name := range map[string]string{
		"postgres://u:s3cret@h:5432/app?sslmode=disable":     "postgres://u@h:5432/app",
		"postgresql:///app?host=/run&user=u&password=s3cret": "postgresql:///app",
		"mysql://u:s3cret%40@h/app?tls=false":                "mysql://u@h/app",
		"redis://:s3cret@h:6379/1":                           "redis://h:6379/1",
		"rediss://u:s3cret@h":                                "rediss://u@h/",
		"etcd://u:s3cret@h1:2379,h2:2379":                    "etcd://u@h1:2379,h2:2379/",
		"etcd://[::1]:2379,h2":                               "etcd://[::1]:2379,h2/",
		"postgres://u:s3cret@[fe80::1]/app":                  "postgres://u@[fe80::1]/app",
		"sqlite:dir/x.db":                                    "sqlite:dir/x.db",
		"sqlite:///dir/x.db":                                 "sqlite:/dir/x.db",
	} {
		db, err := database.Open(url, database.ForCandidates)
		require.NoError(t, err, url)
		assert.Equal(t, name, db.Name)
		assert.NoError(t, db.Close())
	}
}

// No error about a wrong URL contains the password.
func TestAWrongURLKeepsItsPassword(t *testing.T) {
	for url, says := range map[string]string{
		"":                            "not the URL of a database",
		"s3cret":                      "not the URL of a database",
		"postgres://u:s3/cret@h/app":  "not the URL of a database",
		"postgres://u:s3@cret@h/app":  "not the URL of a database",
		"postgres://u:s3?cret@h/app":  "not the URL of a database",
		"postgres://u:s3cret%zz@h":    "hexadecimal",
		"postgres://u:s3cret@h:x/app": "not the URL of a database",
		"postgres://u:s3cret@h:99999": "does not understand",
		"postgres://u:s3cret":         "not the URL of a database",
		"postgres://u:s3cret/app":     "not the URL of a database",
		"postgres://u:s3cret?x=y":     "not the URL of a database",
		"redis://:s3cret":             "not the URL of a database",
		"etcd://h1:2379,u:s3cret":     "not the URL of a database",
		"mysql://u:[::s3cret]":        "not the URL of a database",
		"redis://u:s3cret@h/x":        "redis://u@h/x: ",
		"mysql://u:s3cret@h/x?tls=no": "mysql://u@h/x: ",
		"oracle://u:s3cret@h/app":     `is called "oracle"`,
		"sqlite:":                     "names no file",
	} {
		_, err := database.Open(url, database.ForCandidates)
		require.ErrorContains(t, err, says, url)
		assert.NotContains(t, err.Error(), "cret", url)
		assert.NotContains(t, err.Error(), "s3", url)
	}
}

// Candidates are woken by every database that can say when a lease is released.
func TestDatabasesThatCanWakeUpDo(t *testing.T) {
	for url, wakes := range map[string]bool{
		"postgres://h/app": true, "etcd://h": true, "redis://h": true, "rediss://h": true, "mysql://h/app": false,
		"sqlite:" + filepath.Join(t.TempDir(), "x.db"): false,
	} {
		db, err := database.Open(url, database.ForOperators)
		require.NoError(t, err, url)
		assert.Equal(t, wakes, db.Waker != nil, url)
		assert.NoError(t, db.Close(), url)
	}
}

// An operator's commands make no database file.
func TestOperatorsMakeNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	look := func(use database.Use) error {
		db, err := database.Open("sqlite:"+path, use)
		require.NoError(t, err)
		require.NoError(t, db.Prepare(t.Context()))
		_, err = db.Store.Names(t.Context())
		assert.NoError(t, db.Close())
		return err
	}
	assert.ErrorContains(t, look(database.ForOperators), "unable to open")
	assert.NoFileExists(t, path)
	assert.NoError(t, look(database.ForCandidates))
	assert.NoError(t, look(database.ForOperators))
}

// A relative path means nothing in a folder that is gone.
func TestAFolderThatIsGoneIsReported(t *testing.T) {
	gone := t.TempDir()
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip("this system keeps a folder that is in use:", err)
	}
	_, err := database.Open("sqlite:leases.db", database.ForCandidates)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "sqlite:leases.db: ")
}
