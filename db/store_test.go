package db_test

import (
	"testing"

	"shiftpost/db/dbtest"
)

func TestOpenMigrates(t *testing.T) {
	t.Parallel()
	dbtest.Open(t)
}
