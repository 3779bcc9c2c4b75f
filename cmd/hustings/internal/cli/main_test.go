package cli

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	beTheCommand()
	goleak.VerifyTestMain(m)
}
