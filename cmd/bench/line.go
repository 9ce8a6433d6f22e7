package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
)

// slowLINE is a LINE that takes so long for every answer, and notes when requests arrive and with which keys.
type slowLINE struct {
	url     string
	server  *http.Server
	mu      sync.Mutex
	keys    []string
	arrived chan struct{}
}

func startLINE(latency time.Duration) (*slowLINE, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &slowLINE{url: "http://" + l.Addr().String(), arrived: make(chan struct{}, 1<<16)}
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("X-Line-Retry-Key"))
		s.mu.Unlock()
		s.arrived <- struct{}{}
		select {
		case <-time.After(latency):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"sentMessages":[{"id":"1"}]}`)
	})}
	go s.server.Serve(l)
	return s, nil
}

func (s *slowLINE) close() { s.server.Close() }

// timed is a client that notes when each push begins.
type timed struct {
	*line.Client
	begun chan time.Time
}

func (t timed) Push(ctx context.Context, body []byte, key string) (line.Answer, error) {
	t.begun <- time.Now()
	return t.Client.Push(ctx, body, key)
}

// publishing prints how long a publish takes and how soon after its commit LINE is asked, whatever LINE does. The three
// LINEs take turns, so that what else this machine does is the same for all.
func publishing(ctx context.Context) error {
	const (
		rounds = 100
		pause  = 140 * time.Millisecond // a LINE of 3 s then has seven requests in flight
	)
	all := []*publisher{{name: "answers in 20 ms", latency: 20 * time.Millisecond}, {name: "answers in 3 s", latency: 3 * time.Second}, {name: "is down", down: true}}
	for _, p := range all {
		if err := p.start(ctx); err != nil {
			return fmt.Errorf("publish while LINE %s: %w", p.name, err)
		}
		defer p.stop()
	}
	for i := range rounds {
		for _, p := range all {
			if err := p.publish(ctx, i); err != nil {
				return fmt.Errorf("publish while LINE %s: %w", p.name, err)
			}
			time.Sleep(pause)
		}
	}
	var medians []float64
	for _, p := range all {
		p50, p99 := percentiles(p.took)
		r50, r99 := percentiles(p.reach)
		say("publish            LINE %-16s  request p50 %s p99 %s   commit to LINE p50 %s p99 %s", p.name, round(p50), round(p99), round(r50), round(r99))
		medians = append(medians, float64(p50))
	}
	say("publish            slowest p50 to fastest, ratio %.2f", slices.Max(medians)/slices.Min(medians))
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// publisher publishes months at a school of its own whose LINE answers late or not at all.
type publisher struct {
	name    string
	latency time.Duration
	down    bool

	school      *school
	far         *slowLINE
	to          timed
	stopRunner  context.CancelFunc
	took, reach []time.Duration
}

func (p *publisher) start(ctx context.Context) (err error) {
	if p.school, err = newSchool(ctx, 10); err != nil {
		return err
	}
	if p.far, err = startLINE(p.latency); err != nil {
		return err
	}
	if p.down {
		p.far.close()
	}
	p.to = timed{line.NewClient(line.Options{BaseURL: p.far.url, Token: "t"}), make(chan time.Time, 1)}
	var running context.Context
	running, p.stopRunner = context.WithCancel(ctx)
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: p.school.store, LINE: p.to, Clock: p.school.clock, Grace: time.Millisecond, Logger: quiet()})
	go runner.Run(running)
	return nil
}

func (p *publisher) stop() {
	p.stopRunner()
	p.far.close()
	p.school.close()
}

// publish publishes a month of a group of its own, so that it waits for no other, and notes when LINE was asked.
func (p *publisher) publish(ctx context.Context, i int) error {
	store, month := p.school.store, roster.Month{Year: 2027, Month: time.February}
	g, err := store.CreateGroup(ctx, db.GroupEdit{Name: fmt.Sprintf("グループ %d", i), LeadMinutes: 120})
	if err != nil {
		return err
	}
	if err := store.LinkGroup(ctx, g.ID, fmt.Sprintf("C%032x", i+1), "LINE", 14); err != nil {
		return err
	}
	room, err := store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: fmt.Sprintf("教室 %d", i), ShortName: "教"})
	if err != nil {
		return err
	}
	if _, err := store.AddShift(ctx, db.ShiftEdit{TeacherID: 1, ClassroomID: room.ID, Date: month.First(), Times: roster.TimeRange{Start: roster.Minutes(i * 10), End: roster.Minutes(i*10 + 5)}}, roster.ShiftConfirmed); err != nil {
		return err
	}
	preview, err := store.Preview(ctx, g.ID, month)
	if err != nil {
		return err
	}
	hash := preview.Sheet.Hash()
	if err := store.SavePreview(ctx, hash, []roster.Image{{Page: 1, Title: "教室", SHA256: fmt.Sprintf("%064x", i), Width: 2160, Height: 3000, SizeBytes: 1}}); err != nil {
		return err
	}
	begun := time.Now()
	if _, err := store.Publish(ctx, db.PublishInput{GroupID: g.ID, Month: month, SheetHash: hash}); err != nil {
		return err
	}
	committed := time.Now()
	p.took = append(p.took, committed.Sub(begun))
	p.reach = append(p.reach, (<-p.to.begun).Sub(committed))
	return nil
}

// reminding prints how fast 2,000 reminders go out with 16 workers and a LINE of 20 ms.
func reminding(ctx context.Context) error {
	const n, workers, latency = 2000, 16, 20 * time.Millisecond
	rate, err := measure(ctx, func(ctx context.Context) (float64, error) {
		s, err := newSchool(ctx, n)
		if err != nil {
			return 0, err
		}
		defer s.close()
		far, err := startLINE(latency)
		if err != nil {
			return 0, err
		}
		defer far.close()
		return s.drain(ctx, line.NewClient(line.Options{BaseURL: far.url, Token: "t"}), workers)
	})
	if err != nil {
		return fmt.Errorf("reminders: %w", err)
	}
	ideal := workers / latency.Seconds()
	say("reminders          %d with %d workers and LINE at %s: %.0f/s of %.0f/s possible, ratio %.2f", n, workers, latency, rate, ideal, rate/ideal)
	return nil
}

// victimCommand makes this program run nothing but a runner, to be killed.
const victimCommand = "run-until-killed"

// victim works the queue of a data folder against a LINE, both named in the environment.
func victim() {
	ctx := context.Background()
	composer, err := jobs.NewComposer("https://liff.line.me", "1234567890-AbcdEfgh", time.UTC)
	if err != nil {
		panic(err)
	}
	store, err := db.Open(ctx, db.Options{Dir: os.Getenv("BENCH_DIR"), Logger: quiet(), Compose: composer})
	if err != nil {
		panic(err)
	}
	client := line.NewClient(line.Options{BaseURL: os.Getenv("BENCH_LINE"), Token: "t", Timeout: time.Minute})
	panic(jobs.NewRunner(jobs.RunnerOptions{Store: store, LINE: client, Logger: quiet()}).Run(ctx))
}

func startVictim(dir, lineURL string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, victimCommand)
	cmd.Env = append(os.Environ(), "BENCH_DIR="+dir, "BENCH_LINE="+lineURL)
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// restarting prints how long after exec a killed process has its eight requests in flight again, and checks that they
// carry the same keys and spent no try.
func restarting(ctx context.Context) error {
	took, err := measure(ctx, func(ctx context.Context) (float64, error) {
		d, err := restart(ctx)
		return float64(d), err
	})
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	say("restart            eight requests in flight again %s after exec, same keys, eight interrupted attempts, no try spent", round(time.Duration(took)))
	return nil
}

func restart(ctx context.Context) (time.Duration, error) {
	const workers = 8
	s, err := newSchool(ctx, workers)
	if err != nil {
		return 0, err
	}
	defer s.close()
	// The victim has the real clock: shifts that begin in two hours by it.
	s.clock.Advance(time.Since(s.clock.Now()))
	start := time.Now().UTC().Add(2 * time.Hour)
	minutes := start.Hour()*60 + start.Minute()
	if _, err := s.store.SessionDB().ExecContext(ctx, `UPDATE shifts SET date = ?, start_minutes = ?, end_minutes = ?`, start.Format(time.DateOnly), minutes, minutes+60); err != nil {
		return 0, err
	}
	if n, err := s.store.MakeReminders(ctx); err != nil || n != workers {
		return 0, errors.Join(fmt.Errorf("%d reminders are due, want %d", n, workers), err)
	}
	far, err := startLINE(time.Hour)
	if err != nil {
		return 0, err
	}
	defer far.close()
	eight := func() error {
		late := time.After(20 * time.Second)
		for range workers {
			select {
			case <-far.arrived:
			case <-late:
				return errors.New("the requests never came")
			}
		}
		return nil
	}
	cmd, err := startVictim(s.store.Dir(), far.url)
	if err != nil {
		return 0, err
	}
	if err := eight(); err != nil {
		return 0, err
	}
	if err := cmd.Process.Kill(); err != nil {
		return 0, err
	}
	_ = cmd.Wait() // it was killed
	begun := time.Now()
	if cmd, err = startVictim(s.store.Dir(), far.url); err != nil {
		return 0, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := eight(); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	return took, checkRestart(ctx, s.store, far.keys)
}

func checkRestart(ctx context.Context, store *db.Store, keys []string) error {
	count := map[string]int{}
	for _, k := range keys {
		count[k]++
	}
	rows, err := store.Deliveries(ctx, db.DeliveryFilter{})
	if err != nil {
		return err
	}
	for _, r := range rows {
		d, err := store.Delivery(ctx, r.ID)
		if err != nil {
			return err
		}
		interrupted := 0
		for _, a := range d.Attempts {
			if a.Outcome == roster.Interrupted {
				interrupted++
			}
		}
		if count[d.RetryKey] != 2 || interrupted != 1 || d.LadderTries != 0 {
			return fmt.Errorf("delivery %d was asked for %d times with its key, has %d interrupted attempts and %d tries spent", d.ID, count[d.RetryKey], interrupted, d.LadderTries)
		}
	}
	return nil
}

// idling prints the processor time that serve takes while nothing happens, once it has settled.
func idling(ctx context.Context) error {
	dir, remove, err := tempDir()
	if err != nil {
		return err
	}
	defer remove()
	binary := filepath.Join(dir, "shiftpost")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "shiftpost/cmd/shiftpost").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	far, err := startLINE(0)
	if err != nil {
		return err
	}
	defer far.close()
	spent, err := idleTime(binary, filepath.Join(dir, "data"), far.url)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	say("idle               serve takes %s of processor time in %s, %s in 10 s", round(spent), *idle, round(spent*10*time.Second / *idle))
	return nil
}

// settling is how long serve has for its first sweeps.
const settling = 5 * time.Second

// idleTime runs serve on a fresh folder and returns the processor time it took in the idle time.
func idleTime(binary, dir, lineURL string) (time.Duration, error) {
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(os.Environ(), "SHIFTPOST_ADDR=127.0.0.1:0", "SHIFTPOST_BASE_URL=http://127.0.0.1:8080", "SHIFTPOST_DATA_DIR="+dir,
		"LINE_CHANNEL_ACCESS_TOKEN=t", "LINE_CHANNEL_SECRET=s", "LINE_LOGIN_CHANNEL_ID=1234567890", "LINE_LIFF_ID=1234567890-AbcdEfgh",
		"LINE_API_BASE_URL="+lineURL, "LINE_LIFF_BASE_URL="+lineURL, "LINE_LIFF_SDK_URL="+lineURL)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	time.Sleep(settling)
	before, err := processorTime(cmd.Process.Pid)
	time.Sleep(*idle)
	after, err2 := processorTime(cmd.Process.Pid)
	if err := errors.Join(err, err2, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		return 0, err
	}
	return after - before, nil
}

// processorTime returns what another process has taken so far. Its clock has that number on Linux
// (https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html), which getrusage has only for processes that ended.
func processorTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
