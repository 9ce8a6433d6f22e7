package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gathering is a store whose writer is kept busy, so that the writes of a test gather behind it.
type gathering struct {
	*Store
	t       *testing.T
	release chan struct{}
	wait    sync.WaitGroup
}

func gather(t *testing.T) *gathering {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, q := range []string{`CREATE TABLE notes (word TEXT NOT NULL) STRICT`,
		`CREATE TRIGGER fatal BEFORE INSERT ON notes WHEN new.word = 'fatal' BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END`} {
		if _, err := s.write.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	g := &gathering{Store: s, t: t, release: make(chan struct{})}
	begun := make(chan struct{})
	g.wait.Go(func() {
		err := s.inTx(t.Context(), func(*tx) error {
			close(begun)
			<-g.release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	return g
}

// add lets f write behind those that wait already, and calls then with what came of it.
func (g *gathering) add(f func(*tx) error, then func(error)) {
	g.t.Helper()
	g.queue(func() { then(g.inTx(g.t.Context(), f)) })
}

func (g *gathering) lined() int {
	g.writer.mu.Lock()
	defer g.writer.mu.Unlock()
	return len(g.writer.waiting) + len(g.writer.later)
}

// queue starts what writes, and returns when that waits.
func (g *gathering) queue(writes func()) {
	g.t.Helper()
	before := g.lined()
	g.wait.Go(writes)
	for g.lined() == before {
		runtime.Gosched()
	}
}

func note(word string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.exec(`INSERT INTO notes (word) VALUES (?)`, word)
		return err
	}
}

// want lets the writes go and checks what is written in the end.
func (g *gathering) want(words ...string) {
	g.t.Helper()
	close(g.release)
	g.wait.Wait()
	got, err := list(g.t.Context(), g.read, func(r scanner) (w string, err error) {
		err = r.Scan(&w)
		return w, err
	}, `SELECT word FROM notes ORDER BY rowid`)
	if err != nil || !slices.Equal(got, words) {
		g.t.Errorf("written is %v, %v; want %v", got, err, words)
	}
}

func (g *gathering) fine(err error) {
	if err != nil {
		g.t.Error(err)
	}
}

func TestWritesThatWaitShareATransactionInTheirOrder(t *testing.T) {
	t.Parallel()
	g := gather(t)
	var shared []*sql.Conn // one for each transaction; written by one goroutine after the other
	var words []string
	for i := range 2*maxTogether + 1 {
		word := fmt.Sprint(i)
		words = append(words, word)
		g.add(func(t *tx) error {
			shared = append(shared, t.Tx.(steady).Conn)
			return note(word)(t)
		}, g.fine)
	}
	g.want(words...)
	transactions := slices.Compact(slices.Clone(shared))
	if len(transactions) != 3 || shared[maxTogether-1] != transactions[0] || shared[2*maxTogether-1] != transactions[1] {
		t.Errorf("%d writes took %d transactions", len(words), len(transactions))
	}
}

func TestWhatNobodyWaitsForLetsOthersGoFirstAFewTimes(t *testing.T) {
	t.Parallel()
	g := gather(t)
	var words []string
	for _, word := range []string{"later 1", "later 2"} {
		g.queue(func() { g.fine(g.inTxLater(t.Context(), note(word))) })
	}
	for i := range maxPassed*maxTogether + 1 {
		word := fmt.Sprint(i)
		if i == maxPassed*maxTogether {
			words = append(words, "later 1", "later 2")
		}
		words = append(words, word)
		g.add(note(word), g.fine)
	}
	g.want(words...)
	g.fine(g.inTxLater(t.Context(), note("alone")))
}

func TestAPanicInALoneWriteThatAnotherGoroutineCommitsIsKeptForItsOwn(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.want()
	w := &write{ctx: t.Context(), f: func(*tx) error { panic("mistake") }}
	g.commitTogether([]*write{w}, nil)
	if w.err == nil || w.panicked == nil || !strings.Contains(w.panicked.Error(), "mistake") {
		t.Errorf("it got %v and panics with %v", w.err, w.panicked)
	}
}

func TestAWriteThatFailsFailsAlone(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.add(note("first"), g.fine)
	broken := errors.New("broken")
	g.add(func(t *tx) error { return errors.Join(note("broken")(t), broken) }, func(err error) {
		if !errors.Is(err, broken) {
			t.Errorf("the one that failed got %v", err)
		}
	})
	g.add(note("last"), g.fine)
	g.want("first", "last")
}

func TestAPanicInAWriteGoesOnWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.add(note("first"), g.fine)
	panicked := make(chan any, 1)
	g.queue(func() {
		defer func() { panicked <- recover() }()
		_ = g.inTx(t.Context(), func(t *tx) error {
			if err := note("broken")(t); err != nil {
				return err
			}
			panic("mistake")
		})
	})
	g.want("first")
	if p := fmt.Sprint(<-panicked); !strings.Contains(p, "mistake") || !strings.Contains(p, "TestAPanicInAWrite") {
		t.Errorf("it panicked with %v, which does not tell where", p)
	}
	g.fine(g.inTx(t.Context(), note("later")))
}

func TestAPanicInALoneWriteIsAsIfItHadNoTransaction(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.want()
	func() {
		defer func() {
			if p := recover(); p != "mistake" {
				t.Errorf("it panicked with %v", p)
			}
		}()
		_ = g.inTx(t.Context(), func(*tx) error { panic("mistake") })
	}()
	g.fine(g.inTx(t.Context(), note("later")))
}

func TestAWriteWhoseTransactionIsGivenUpIsNotToldThatItIsWritten(t *testing.T) {
	t.Parallel()
	g := gather(t)
	notWritten := func(err error) {
		if !errors.Is(err, errNotWritten) {
			t.Errorf("it got %v", err)
		}
	}
	g.add(func(*tx) error { return errors.New("refused") }, func(error) { t.Error("the goroutine that commits goes on") })
	g.add(note("first"), notWritten)
	g.add(func(*tx) error { runtime.Goexit(); return nil }, notWritten)
	g.want()
	g.fine(g.inTx(t.Context(), note("later")))
}

func TestATransactionThatIsLostIsLostForAllThatWroteInItAndTheRestIsWritten(t *testing.T) {
	t.Parallel()
	g := gather(t)
	full := func(err error) {
		if err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("who wrote in the lost transaction got %v", err)
		}
	}
	refused := errors.New("refused")
	g.add(note("first"), full)
	g.add(func(*tx) error { return refused }, func(err error) {
		if !errors.Is(err, refused) {
			t.Errorf("who was refused before got %v", err)
		}
	})
	g.add(note("fatal"), full)
	g.add(note("last"), g.fine)
	g.want("last")
}

func TestAWriteWhoseCallerIsGoneBeforeItBeginsIsNotMade(t *testing.T) {
	t.Parallel()
	g := gather(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := g.inTx(ctx, note("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("it got %v", err)
	}
	g.want()
}

func TestNoPreparedStatementIsCompiledAnewForTheValuesItGets(t *testing.T) {
	t.Parallel()
	c := steady{queries: new(sync.Map)}
	for query, want := range map[string]string{
		`SELECT ?, ?1, ?12 FROM notes WHERE word = ?`: `SELECT +?, +?1, +?12 FROM notes WHERE word = +?`,
		`SELECT 1`: `SELECT 1`,
	} {
		if got := c.query(query); got != want {
			t.Errorf("%s becomes %s, want %s", query, got, want)
		}
	}
}

func TestAGoroutineThatEndsWhileItCommitsForOthersLeavesTheTurnToTheNext(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.queue(func() { _ = g.inTxLater(t.Context(), func(*tx) error { runtime.Goexit(); return nil }) })
	g.writer.mu.Lock()
	g.writer.passed = maxPassed // what nobody waits for goes next
	g.writer.mu.Unlock()
	ended := make(chan struct{})
	g.queue(func() {
		defer close(ended)
		_ = g.inTx(t.Context(), note("of the one that ends"))
		t.Error("the goroutine that commits goes on")
	})
	close(g.release)
	<-ended
	g.fine(g.inTx(t.Context(), note("later")))
}

func TestAWriteGoesOnWhenItsCallerIsGone(t *testing.T) {
	t.Parallel()
	g := gather(t)
	g.want()
	ctx, stop := context.WithCancel(t.Context())
	err := g.inTx(ctx, func(t *tx) error {
		stop()
		var n int
		return t.row(`WITH RECURSIVE long (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM long WHERE n < 1000000) SELECT count(*) FROM long`).Scan(&n)
	})
	if err != nil {
		t.Errorf("it was ended half-way: %v", err)
	}
}
