// Package db is everything that survives a restart. It opens and migrates the one SQLite file and has one exported
// method for each use case.
//
// An exported method that writes is one immediate transaction, with "now" taken once from the store's clock; the
// lower-case functions beside it take that transaction and can be combined. Writes go through a single connection
// and are never cancelled half-way: an interrupt would roll back the transaction and leave the driver between two
// statements. Reads go through query-only connections and run beside an open write.
//
// Instants are stored as INTEGER milliseconds since 1970 in UTC, local dates as YYYY-MM-DD, times of day as minutes
// from that date's midnight on the school's clock.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
	_ "github.com/mattn/go-sqlite3" // the driver
	"github.com/pressly/goose/v3"

	"shiftpost/db/migrations"
	"shiftpost/db/roster"
)

// FileName is the name of the database file within the data folder.
const FileName = "shiftpost.db"

// Errors that callers tell apart. Not found is an error, never a nil value.
var (
	ErrNotFound  = errors.New("not found")
	ErrEdited    = errors.New("edited by somebody else since it was read")
	ErrNameTaken = errors.New("the name is taken")
	ErrParent    = errors.New("what it belongs to is not in use")
)

// Options say how a store is opened.
type Options struct {
	Dir      string          // the data folder; made with mode 0700 if it does not exist
	Clock    clockwork.Clock // nil: the real one
	Location *time.Location  // the school's time zone; nil: UTC
	Logger   *slog.Logger    // nil: slog.Default()
	Delivery DeliveryOptions // zero: the documented defaults
	Compose  roster.Composer // builds the messages; only a process that runs jobs needs it
}

// Store is the open database. Its methods may be called from any goroutine.
type Store struct {
	write   *sql.DB // one connection, immediate transactions
	read    *sql.DB // query-only
	dir     string
	clock   clockwork.Clock
	loc     *time.Location
	log     *slog.Logger
	opts    DeliveryOptions
	compose roster.Composer
	boot    string // names this process's leases
	writer  writer
	queued  chan struct{}
}

// Open opens or makes the database in o.Dir, applies the migrations that are missing and verifies that SQLite runs
// as durably as the code relies on.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	path := filepath.Join(o.Dir, FileName)
	// SQLite would make the file with mode 0644; its journal files copy the mode.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}

	s := &Store{dir: o.Dir, clock: o.Clock, loc: o.Location, log: o.Logger, opts: o.Delivery.withDefaults(), compose: o.Compose, boot: uuid.NewString(), queued: make(chan struct{}, 1)}
	s.write, err = sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_busy_timeout=5000&_synchronous=FULL&_foreign_keys=on&_txlock=immediate&_stmt_cache_size=128")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	s.write.SetMaxOpenConns(1)
	s.read, err = sql.Open("sqlite3", "file:"+path+"?mode=ro&_busy_timeout=5000&_foreign_keys=on&_query_only=true")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), s.Close())
	}
	s.read.SetMaxOpenConns(4)
	s.read.SetMaxIdleConns(4)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	if err := checkPragmas(ctx, s.write, map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"}); err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.write, migrations.FS)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return checkPragmas(ctx, s.read, map[string]string{"query_only": "1", "busy_timeout": "5000"})
}

// checkPragmas reads the settings back, since the driver ignores a misspelt one in silence.
func checkPragmas(ctx context.Context, pool *sql.DB, want map[string]string) error {
	for name, value := range want {
		var got string
		if err := pool.QueryRowContext(ctx, "PRAGMA "+name).Scan(&got); err != nil {
			return fmt.Errorf("read pragma %s: %w", name, err)
		}
		if got != value {
			return fmt.Errorf("pragma %s is %s, not %s", name, got, value)
		}
	}
	return nil
}

// Close writes the journal back into the database file and closes it.
func (s *Store) Close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	return errors.Join(errs...)
}

// SessionDB returns the writer's handle for the session store, which brings its own statements.
func (s *Store) SessionDB() *sql.DB { return s.write }

// Dir returns the data folder.
func (s *Store) Dir() string { return s.dir }

// Location returns the school's time zone.
func (s *Store) Location() *time.Location { return s.loc }

// Now returns the store's present instant in UTC, cut to the milliseconds that are stored.
func (s *Store) Now() time.Time { return s.clock.Now().UTC().Truncate(time.Millisecond) }

// BootID names this process on its leases and attempts.
func (s *Store) BootID() string { return s.boot }

// Queued gets a value after a commit that made a delivery due, or due sooner, so that the runner of this process need
// not find it by polling. What another process writes is not told here.
func (s *Store) Queued() <-chan struct{} { return s.queued }

// inRead runs f on one moment of the database: what it reads in several statements fits together.
func (s *Store) inRead(ctx context.Context, f func(querier) error) error {
	return s.inReadTx(ctx, func(t *tx) error { return f(t) })
}

// inReadTx is inRead for functions that take a transaction but only read, such as check. A write in it fails.
func (s *Store) inReadTx(ctx context.Context, f func(*tx) error) error {
	begun, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer begun.Rollback() // nothing was written
	return f(&tx{Tx: begun, ctx: ctx, now: s.Now()})
}

// querier is what reads need: a transaction or the pool of readers.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row or the present row of several.
type scanner interface{ Scan(dest ...any) error }

// list collects the rows of a query.
func list[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// one scans the row of a query that finds at most one; the error is ErrNotFound if it finds none.
func one[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	v, err := scan(q.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return v, err
}

// qualify puts a table's alias before each of a list of columns.
func qualify(alias, columns string) string {
	return alias + "." + strings.ReplaceAll(columns, ", ", ", "+alias+".")
}
