// Command bench measures what the product promises about speed and prints medians of several runs, with the machine,
// the versions and how long this disk takes to make a write durable. Every figure of the queue stands beside that of a
// minimal hand-written loop in the same run: one durable transaction per operation, no history, no checks.
//
//	go run ./cmd/bench [-runs 3] [-idle 60s]
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/mattn/go-sqlite3"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
)

var (
	runs    = flag.Int("runs", 3, "runs of each measurement; the median is printed")
	profile = flag.String("cpuprofile", "", "file for a processor profile")
	only    = flag.String("only", "", "measure this alone: enqueue, drain, publish, reminders, restart or idle")
	idle    = flag.Duration("idle", 60*time.Second, "how long the idle program is watched")
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == victimCommand {
		victim()
		return
	}
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := bench(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// say prints one figure a line.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func bench(ctx context.Context) error {
	version, _, _ := sqlite3.Version()
	fsync, err := measure(ctx, fsyncTime)
	if err != nil {
		return err
	}
	say("machine            %d cores, %s, %s/%s, SQLite %s", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, version)
	say("durable write      %s (fsync of one page, median of %d runs)", time.Duration(fsync).Round(time.Microsecond), *runs)
	pairs := func(name string, ours, byHand func(context.Context, int) (float64, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			return errors.Join(compare(ctx, name, 1, ours, byHand), compare(ctx, name, 8, ours, byHand))
		}
	}
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"enqueue", pairs("enqueue", enqueueOurs, enqueueByHand)}, {"drain", pairs("drain", drainOurs, drainByHand)},
		{"publish", publishing}, {"reminders", reminding}, {"restart", restarting}, {"idle", idling},
	} {
		if *only != "" && *only != m.name {
			continue
		}
		if err := m.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the median of several runs.
func measure(ctx context.Context, f func(context.Context) (float64, error)) (float64, error) {
	var all []float64
	for range *runs {
		x, err := f(ctx)
		if err != nil {
			return 0, err
		}
		all = append(all, x)
	}
	return median(all), nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// compare prints a rate beside that of the hand-written loop. The two take turns, so that what else this machine does
// is the same for both.
func compare(ctx context.Context, name string, workers int, ours, byHand func(context.Context, int) (float64, error)) error {
	var all, hand, ratios []float64
	for range *runs {
		a, err := ours(ctx, workers)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b, err := byHand(ctx, workers)
		if err != nil {
			return fmt.Errorf("%s by hand: %w", name, err)
		}
		all, hand, ratios = append(all, a), append(hand, b), append(ratios, a/b)
	}
	say("%-8s by %d       %6.0f/s   by hand %6.0f/s   ratio %.2f", name, workers, median(all), median(hand), median(ratios))
	return nil
}

// tempDir returns a folder that remove takes away.
func tempDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "shiftpost-bench-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// fsyncTime returns how many nanoseconds writing and syncing one page of a file takes.
func fsyncTime(context.Context) (float64, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return 0, err
	}
	defer remove()
	f, err := os.Create(filepath.Join(dir, "page"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	page := make([]byte, 4096)
	const n = 200
	begun := time.Now()
	for i := range n {
		if _, err := f.WriteAt(page, int64(i)*4096); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(begun).Nanoseconds()) / n, nil
}

// parallel runs f(i) for i below n on so many goroutines and returns operations per second.
func parallel(workers, n int, f func(int) error) (float64, error) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	next := make(chan int)
	begun := time.Now()
	for range workers {
		wait.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	return float64(n) / time.Since(begun).Seconds(), errors.Join(errs...)
}

const (
	enqueueCount = 2000
	drainCount   = 2000
)

// enqueueOurs writes jobs as the product does when a webhook comes: each with the event it is for.
func enqueueOurs(ctx context.Context, workers int) (float64, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return 0, err
	}
	defer remove()
	store, err := db.Open(ctx, db.Options{Dir: dir, Logger: quiet()})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	return parallel(workers, enqueueCount, func(i int) error {
		user := fmt.Sprintf("U%032x", i+1)
		n, err := store.ReceiveEvents(ctx, []roster.LINEEvent{{ID: user, Kind: roster.Followed, UserID: user, HappenedAt: store.Now(), Body: []byte("{}")}})
		if err == nil && n != 1 {
			err = fmt.Errorf("an event made %d jobs", n)
		}
		return err
	})
}

func inTx(ctx context.Context, w *sql.DB, f func(*sql.Tx) error) error {
	tx, err := w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// handQueue opens the table of the hand-written loop.
func handQueue(ctx context.Context, dir string) (*sql.DB, error) {
	w, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "hand.db")+"?_journal_mode=WAL&_busy_timeout=5000&_synchronous=FULL&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	w.SetMaxOpenConns(1)
	_, err = w.ExecContext(ctx, `CREATE TABLE queue (id INTEGER PRIMARY KEY, payload TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0) STRICT; CREATE INDEX ready ON queue (id) WHERE state = 0`)
	return w, err
}

func enqueueByHand(ctx context.Context, workers int) (float64, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return 0, err
	}
	defer remove()
	w, err := handQueue(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	return parallel(workers, enqueueCount, func(i int) error {
		return inTx(ctx, w, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO queue (payload) VALUES (?)`, fmt.Sprint(i))
			return err
		})
	})
}

func drainByHand(ctx context.Context, workers int) (float64, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return 0, err
	}
	defer remove()
	w, err := handQueue(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	err = inTx(ctx, w, func(tx *sql.Tx) error {
		for i := range drainCount {
			if _, err := tx.ExecContext(ctx, `INSERT INTO queue (payload) VALUES (?)`, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return parallel(workers, drainCount, func(int) error {
		var id int64
		if err := inTx(ctx, w, func(tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, `UPDATE queue SET state = 1 WHERE id = (SELECT id FROM queue WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id`).Scan(&id)
		}); err != nil {
			return err
		}
		return inTx(ctx, w, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE queue SET state = 2 WHERE id = ?`, id)
			return err
		})
	})
}

// counting tells when a push was answered, so that nothing else has to look meanwhile.
type counting struct {
	jobs.LINE
	answered chan struct{}
}

func (c counting) Push(ctx context.Context, body []byte, key string) (line.Answer, error) {
	defer func() { c.answered <- struct{}{} }()
	return c.LINE.Push(ctx, body, key)
}

// instant is a LINE that takes everything at once, so that only our own work is measured.
type instant struct{ *line.Client }

// Push accepts.
func (instant) Push(context.Context, []byte, string) (line.Answer, error) {
	return line.Answer{Status: http.StatusOK}, nil
}

func drainOurs(ctx context.Context, workers int) (float64, error) {
	s, err := newSchool(ctx, drainCount)
	if err != nil {
		return 0, err
	}
	defer s.close()
	return s.drain(ctx, instant{}, workers)
}

// school is a store whose so many teachers have one shift each that is due to be reminded of.
type school struct {
	store  *db.Store
	group  roster.Group
	remove func()
	clock  *clockwork.FakeClock
}

func (s *school) close() {
	s.store.Close()
	s.remove()
}

// newSchool fills a store. The clock stands still within the window of the reminders; time that is measured is real.
func newSchool(ctx context.Context, teachers int) (*school, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return nil, err
	}
	composer, err := jobs.NewComposer("https://liff.line.me", "1234567890-AbcdEfgh", time.UTC)
	if err != nil {
		return nil, err
	}
	clock := clockwork.NewFakeClockAt(time.Date(2027, 1, 8, 8, 0, 0, 0, time.UTC))
	store, err := db.Open(ctx, db.Options{Dir: dir, Logger: quiet(), Compose: composer, Clock: clock})
	if err != nil {
		return nil, err
	}
	s := &school{store: store, remove: remove, clock: clock}
	if s.group, err = store.CreateGroup(ctx, db.GroupEdit{Name: "グループ", LeadMinutes: 120}); err != nil {
		return nil, err
	}
	room, err := store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: s.group.ID, Name: "教室", ShortName: "教"})
	if err != nil {
		return nil, err
	}
	// Straight into the tables: what is measured begins later.
	w := store.SessionDB()
	err = inTx(ctx, w, func(tx *sql.Tx) error {
		now := store.Now().UnixMilli()
		for i := range teachers {
			if _, err := tx.ExecContext(ctx, `INSERT INTO teachers (id, classroom_id, name, position, line_user_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				i+1, room.ID, fmt.Sprintf("講師 %d", i+1), i+1, fmt.Sprintf("U%032x", i+1), now, now); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO shifts (teacher_id, classroom_id, date, start_minutes, end_minutes, state, shown_at, changed_at, created_at, updated_at)
				VALUES (?, ?, '2027-01-08', 570, 690, 'confirmed', ?, ?, ?, ?)`, i+1, room.ID, now, now, now, now); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// drain queues every reminder and returns how many a second a runner brings to their end.
func (s *school) drain(ctx context.Context, to jobs.LINE, workers int) (float64, error) {
	n, err := s.store.MakeReminders(ctx)
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	counted := counting{to, make(chan struct{}, n)}
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: s.store, LINE: counted, Clock: s.clock, Workers: workers, Logger: quiet()})
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- runner.Run(running) }()
	for range n {
		<-counted.answered
	}
	for {
		unfinished, err := s.store.UnfinishedDeliveries(ctx)
		if err != nil {
			return 0, err
		}
		counts := unfinished.States
		if counts[roster.Failed] > 0 {
			return 0, fmt.Errorf("%d deliveries failed", counts[roster.Failed])
		}
		if counts[roster.Pending]+counts[roster.Queued]+counts[roster.Processing] == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begun)
	stop()
	return float64(n) / took.Seconds(), <-ended
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// percentiles returns the median and the 99th percentile.
func percentiles(all []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}
