package db

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"
)

// instant is a time.Time as a column: milliseconds since 1970 in UTC, NULL for the zero time.
type instant struct{ time.Time }

// at makes the column value of t.
func at(t time.Time) instant { return instant{t} }

// Value returns the milliseconds.
func (i instant) Value() (driver.Value, error) {
	if i.IsZero() {
		return nil, nil
	}
	return i.UnixMilli(), nil
}

// scanInstant returns a Scan target that fills t.
func scanInstant(t *time.Time) *instantScanner { return &instantScanner{t} }

type instantScanner struct{ t *time.Time }

// Scan reads milliseconds or NULL.
func (s *instantScanner) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s.t = time.Time{}
	case int64:
		*s.t = time.UnixMilli(v).UTC()
	default:
		return fmt.Errorf("instant: cannot read a %T", src)
	}
	return nil
}

// ref is a foreign key as a column: NULL for 0.
type ref int64

// Value returns the id or NULL.
func (i ref) Value() (driver.Value, error) {
	if i == 0 {
		return nil, nil
	}
	return int64(i), nil
}

// scanRef returns a Scan target that fills v, with 0 for NULL.
func scanRef(v *int64) *refScanner { return &refScanner{v} }

type refScanner struct{ v *int64 }

// Scan reads an id or NULL.
func (s *refScanner) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s.v = 0
	case int64:
		*s.v = v
	default:
		return fmt.Errorf("reference: cannot read a %T", src)
	}
	return nil
}

// isUnique reports whether err is a violated UNIQUE constraint.
func isUnique(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrConstraintUnique
}
