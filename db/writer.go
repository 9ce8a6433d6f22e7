package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"shiftpost/db/queue"
)

// writer lets the writes that wait for the one connection share a transaction. Making a commit durable costs more than
// all that most of them do, so while one is made durable the next ones gather. None notices: each runs by itself, in
// order and in a savepoint of its own, fails by itself, and is told that it is done after the commit.
type writer struct {
	queries sync.Map // those of steady

	mu      sync.Mutex
	busy    bool     // somebody commits
	waiting []*write // what somebody waits for
	later   []*write // what nobody waits for: it lets the others go first, a few times
	passed  int      // how often it did
}

// write is a function that waits for a transaction, and what came of it.
type write struct {
	ctx      context.Context
	f        func(*tx) error
	lead     chan struct{} // gets a value when its goroutine has to commit what is next
	done     chan struct{} // closed when the rest is set
	err      error
	panicked error // what its function panicked with, if that was in another goroutine or a shared transaction
}

// maxTogether bounds how many writes share a transaction, and so how long the first of them waits for the others.
const maxTogether = 16

// maxPassed bounds how often writes that nobody waits for let others go first, and maxLater how many of them the others
// then wait for.
const (
	maxPassed = 3
	maxLater  = 8
)

// errNotWritten is what a write gets that shared a transaction with one whose goroutine was ended.
var errNotWritten = errors.New("the transaction was given up")

// tx is a running transaction with the instant it began at.
type tx struct {
	queue.Tx
	ctx context.Context
	now time.Time
	// queued says that a job was written which may be due before what the runner sleeps for.
	queued bool
}

// steady runs statements on the writer's connection so that the driver compiles each of them once for the life of the
// store. It puts a plus before each parameter, which changes nothing of its value: without it SQLite looks at the values
// that are bound beside a partial index, and so compiles the statement anew at every run
// (https://www.sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG, which the driver cannot set).
type steady struct {
	*sql.Conn
	queries *sync.Map // as written → with the plus
}

// parameter is a parameter of a statement.
var parameter = regexp.MustCompile(`\?[0-9]*`)

func (c steady) query(written string) string {
	if q, ok := c.queries.Load(written); ok {
		return q.(string)
	}
	q := parameter.ReplaceAllString(written, "+$0")
	c.queries.Store(written, q)
	return q
}

// ExecContext runs a statement.
func (c steady) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return c.Conn.ExecContext(ctx, c.query(query), args...)
}

// QueryContext runs a query for several rows.
func (c steady) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.Conn.QueryContext(ctx, c.query(query), args...)
}

// QueryRowContext runs a query for one row.
func (c steady) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return c.Conn.QueryRowContext(ctx, c.query(query), args...)
}

// inTx runs f in an immediate transaction and returns when it is committed, or undone if f returned an error. Others may
// share the transaction, of which f sees those before it. It is not cancelled by ctx.
func (s *Store) inTx(ctx context.Context, f func(*tx) error) error {
	return s.enter(ctx, f, &s.writer.waiting)
}

// inTxLater is inTx for what nobody waits for: it lets others go first.
func (s *Store) inTxLater(ctx context.Context, f func(*tx) error) error {
	return s.enter(ctx, f, &s.writer.later)
}

func (s *Store) enter(ctx context.Context, f func(*tx) error, list *[]*write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &write{ctx: context.WithoutCancel(ctx), f: f, lead: make(chan struct{}, 1), done: make(chan struct{})}
	s.writer.mu.Lock()
	*list = append(*list, w)
	if !s.writer.busy {
		s.writer.busy = true
		w.lead <- struct{}{}
	}
	s.writer.mu.Unlock()
	for done := false; !done; {
		select {
		case <-w.lead:
			s.commitWaiting(w)
		case <-w.done:
			done = true
		}
	}
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}

// take removes the writes that are next.
func (w *writer) take() (batch []*write) {
	list, most := &w.waiting, maxTogether
	if len(w.later) > 0 && (len(w.waiting) == 0 || w.passed == maxPassed) {
		list, most, w.passed = &w.later, maxLater, 0
	} else if len(w.later) > 0 {
		w.passed++
	}
	n := min(len(*list), most)
	batch = (*list)[:n]
	*list = append([]*write(nil), (*list)[n:]...)
	return batch
}

// commitWaiting commits the writes that are next, among which the caller's own may be, and passes the turn on.
func (s *Store) commitWaiting(own *write) {
	s.writer.mu.Lock()
	batch := s.writer.take()
	s.writer.mu.Unlock()
	returned := false
	defer func() {
		s.writer.mu.Lock()
		if !returned { // this goroutine ends, and cannot commit again
			gone := func(w *write) bool { return w == own }
			s.writer.waiting, s.writer.later = slices.DeleteFunc(s.writer.waiting, gone), slices.DeleteFunc(s.writer.later, gone)
		}
		switch {
		case len(s.writer.waiting) > 0:
			s.writer.waiting[0].lead <- struct{}{}
		case len(s.writer.later) > 0:
			s.writer.later[0].lead <- struct{}{}
		default:
			s.writer.busy = false
		}
		s.writer.mu.Unlock()
		for _, w := range batch {
			close(w.done)
		}
	}()
	for _, w := range batch {
		w.err = errNotWritten
	}
	for rest := batch; len(rest) > 0; {
		rest = s.commitTogether(rest, own)
	}
	returned = true
}

// commitTogether runs some writes in one transaction. What SQLite ends a transaction for (a full disk, an I/O error)
// takes with it what others wrote in it before, who get the error too; those after it are returned and try anew.
func (s *Store) commitTogether(batch []*write, own *write) (rest []*write) {
	ctx := context.Background()
	c, err := s.write.Conn(ctx)
	if err != nil {
		tell(batch, nil, fmt.Errorf("begin transaction: %w", err))
		return nil
	}
	defer c.Close()
	// Not a sql.Tx, which starts a goroutine for every query, to watch for an end that no context brings here.
	if _, err := c.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		tell(batch, nil, fmt.Errorf("begin transaction: %w", err))
		return nil
	}
	open := true
	defer func() {
		if open {
			s.rollBack(ctx, c)
		}
	}()
	failed := make([]error, len(batch)) // told only once it is certain what came of the others
	var written []*tx
	for i, w := range batch {
		t := &tx{Tx: steady{c, &s.writer.queries}, ctx: w.ctx, now: s.Now()}
		var lost error
		switch {
		case len(batch) > 1:
			failed[i], lost = t.within(func() error { return w.guarded(t) })
		case w == own:
			failed[i] = w.f(t)
		default:
			failed[i] = w.guarded(t)
		}
		if lost != nil {
			tell(batch[:i+1], failed, fmt.Errorf("commit transaction: %w", lost))
			return batch[i+1:]
		}
		if failed[i] == nil {
			written = append(written, t)
		}
	}
	if len(written) > 0 {
		if _, err := c.ExecContext(ctx, `COMMIT`); err != nil {
			tell(batch, failed, fmt.Errorf("commit transaction: %w", err))
			return nil
		}
		open = false
	}
	tell(batch, failed, nil)
	queued := false
	for _, t := range written {
		queued = queued || t.queued
	}
	if queued {
		select {
		case s.queued <- struct{}{}:
		default:
		}
	}
	return nil
}

// rollBack undoes an open transaction. Where that fails, mostly because SQLite has ended it itself for a full disk or an
// I/O error, the connection is closed, so that the next transaction surely begins on a clean one.
func (s *Store) rollBack(ctx context.Context, c *sql.Conn) {
	if _, err := c.ExecContext(ctx, `ROLLBACK`); err != nil {
		s.log.Warn("the connection is opened anew after a lost transaction", "error", err)
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // returns the same error
	}
}

// tell gives each write the error it failed with, and those that did not fail by themselves the one they share.
func tell(batch []*write, failed []error, shared error) {
	for i, w := range batch {
		if w.err = shared; failed != nil && failed[i] != nil {
			w.err = failed[i]
		}
	}
}

// guarded calls the function of a write. A panic is kept, with where it came from, and goes on where the write was
// asked for.
func (w *write) guarded(t *tx) error {
	returned := false
	err := recovered(func() (err error) {
		err = w.f(t)
		returned = true
		return err
	})
	if !returned {
		w.panicked = err
	}
	return err
}

// exec runs a statement.
func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	return t.ExecContext(t.ctx, query, args...)
}

// execOne runs a statement that must change exactly one row; otherwise the error is none.
func (t *tx) execOne(none error, query string, args ...any) error {
	res, err := t.exec(query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n != 1 {
		return none
	}
	return nil
}

// insert runs an INSERT and returns the new row's id.
func (t *tx) insert(query string, args ...any) (int64, error) {
	res, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// within runs f in a savepoint. When f fails alone, what it did is undone, the rest of the transaction goes on, and
// failure is why; err is an error of the whole transaction.
func (t *tx) within(f func() error) (failure, err error) {
	if _, err := t.exec(`SAVEPOINT part`); err != nil {
		return nil, fmt.Errorf("set savepoint: %w", err)
	}
	if failure = f(); failure != nil {
		// An error that ended the whole transaction took the savepoint with it, and this fails.
		if _, err := t.exec(`ROLLBACK TO part`); err != nil {
			return failure, errors.Join(failure, fmt.Errorf("roll back to savepoint: %w", err))
		}
	}
	if _, err := t.exec(`RELEASE part`); err != nil {
		return failure, errors.Join(failure, fmt.Errorf("release savepoint: %w", err))
	}
	return failure, nil
}

// row runs a query for one row.
func (t *tx) row(query string, args ...any) *sql.Row {
	return t.QueryRowContext(t.ctx, query, args...)
}
