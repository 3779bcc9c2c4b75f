package sqllease_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/lease/sqllease"
)

func TestAConfigWithoutADatabaseAndADialectSaysBoth(t *testing.T) {
	_, err := sqllease.New(sqllease.Config{})
	assert.ErrorContains(t, err, "DB is nil")
	assert.ErrorContains(t, err, "Dialect is unknown")
}
