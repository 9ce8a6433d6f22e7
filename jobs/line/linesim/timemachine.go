package linesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// TimeMachine is a running clock that can be moved: it goes on like the clock below it, by an offset that Advance and
// Set change. Timers and tickers made from it ring when its time reaches their instant, also because it was moved; a
// move backwards makes them wait longer. It is a clockwork.Clock, so product and simulator can share one.
type TimeMachine struct {
	base clockwork.Clock
	file string // keeps the offset; none if empty

	mu     sync.Mutex
	offset time.Duration
	sleeps []*sleeper
	alarm  clockwork.Timer // on base, for the earliest sleeper
}

// sleeper is one timer or ticker.
type sleeper struct {
	m     *TimeMachine
	until time.Time
	every time.Duration // of a ticker
	c     chan time.Time
	call  func() // of AfterFunc
}

// OpenTimeMachine returns a clock above base. The file keeps the offset across restarts; with an empty name nothing is
// kept, and without a file the clock starts at base's time.
func OpenTimeMachine(base clockwork.Clock, file string) (*TimeMachine, error) {
	m := &TimeMachine{base: base, file: file}
	if file == "" {
		return m, nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var kept savedOffset
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("read clock: %w", err)
	}
	m.offset = time.Duration(kept.Milliseconds) * time.Millisecond
	return m, nil
}

// savedOffset is the file of a TimeMachine.
type savedOffset struct {
	Milliseconds int64 `json:"offsetMilliseconds"`
}

// Advance moves the clock by d, which may be negative, and lets everything ring that is due then.
func (m *TimeMachine) Advance(d time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.move(m.offset + d)
}

// Set moves the clock to t.
func (m *TimeMachine) Set(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.move(t.Sub(m.base.Now()))
}

func (m *TimeMachine) move(offset time.Duration) error {
	// Kept before it is used: a killed demo must not come back earlier than the rows it has written.
	if err := m.keep(offset); err != nil {
		return err
	}
	m.offset = offset
	m.ring()
	return nil
}

func (m *TimeMachine) keep(offset time.Duration) error {
	if m.file == "" {
		return nil
	}
	b, err := json.Marshal(savedOffset{offset.Milliseconds()})
	if err != nil {
		return err
	}
	if err := replaceFile(m.file, b); err != nil {
		return fmt.Errorf("keep clock: %w", err)
	}
	return nil
}

// replaceFile writes a file as a whole or not at all. It does not sync: what it guards against is a killed process,
// after which the system still has the written pages.
func replaceFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".linesim-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// ring wakes the sleepers whose instant has come and sets the alarm for the next one. With m.mu held.
func (m *TimeMachine) ring() {
	now := m.now()
	slices.SortStableFunc(m.sleeps, func(a, b *sleeper) int { return a.until.Compare(b.until) })
	for len(m.sleeps) > 0 && !m.sleeps[0].until.After(now) {
		s := m.sleeps[0]
		m.sleeps = m.sleeps[1:]
		if s.call != nil {
			go s.call()
		} else {
			select {
			case s.c <- now:
			default: // like package time: a tick nobody took is dropped
			}
		}
		if s.every > 0 {
			// One tick for a jump over many.
			s.until = s.until.Add((now.Sub(s.until)/s.every + 1) * s.every)
			i, _ := slices.BinarySearchFunc(m.sleeps, s.until, func(o *sleeper, t time.Time) int { return o.until.Compare(t) })
			m.sleeps = slices.Insert(m.sleeps, i, s)
		}
	}
	if m.alarm != nil {
		m.alarm.Stop()
		m.alarm = nil
	}
	if len(m.sleeps) > 0 {
		m.alarm = m.base.AfterFunc(m.sleeps[0].until.Sub(now), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.ring()
		})
	}
}

func (m *TimeMachine) now() time.Time { return m.base.Now().Add(m.offset) }

func (m *TimeMachine) sleep(s *sleeper, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.until = m.now().Add(d)
	m.sleeps = append(m.sleeps, s)
	m.ring()
}

// remove reports whether s was still asleep.
func (m *TimeMachine) remove(s *sleeper) bool {
	n := len(m.sleeps)
	m.sleeps = slices.DeleteFunc(m.sleeps, func(o *sleeper) bool { return o == s })
	return len(m.sleeps) < n
}

// Now returns the time, without a monotonic reading, which would not follow the moves.
func (m *TimeMachine) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Round(0)
}

// Since is the time from t to now.
func (m *TimeMachine) Since(t time.Time) time.Duration { return m.Now().Sub(t) }

// Until is the time from now to t.
func (m *TimeMachine) Until(t time.Time) time.Duration { return t.Sub(m.Now()) }

// After is NewTimer without the timer.
func (m *TimeMachine) After(d time.Duration) <-chan time.Time { return m.NewTimer(d).Chan() }

// Sleep waits until d has passed on this clock.
func (m *TimeMachine) Sleep(d time.Duration) { <-m.After(d) }

// NewTimer rings once, when d has passed on this clock.
func (m *TimeMachine) NewTimer(d time.Duration) clockwork.Timer {
	s := &sleeper{m: m, c: make(chan time.Time, 1)}
	m.sleep(s, d)
	return timer{s}
}

// AfterFunc runs f in a goroutine of its own when d has passed on this clock.
func (m *TimeMachine) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	s := &sleeper{m: m, call: f}
	m.sleep(s, d)
	return timer{s}
}

// NewTicker rings every d; a move over several of its instants rings once.
func (m *TimeMachine) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("linesim: non-positive interval for NewTicker")
	}
	s := &sleeper{m: m, c: make(chan time.Time, 1), every: d}
	m.sleep(s, d)
	return ticker{s}
}

type timer struct{ s *sleeper }

func (t timer) Chan() <-chan time.Time { return t.s.c }

func (t timer) Stop() bool {
	t.s.m.mu.Lock()
	defer t.s.m.mu.Unlock()
	return t.s.quiet()
}

// quiet takes a sleeper out and empties its channel: as with package time since Go 1.23, nothing rings after Stop.
func (s *sleeper) quiet() bool {
	asleep := s.m.remove(s)
	select {
	case <-s.c:
		return true
	default:
		return asleep
	}
}

func (t timer) Reset(d time.Duration) bool {
	t.s.m.mu.Lock()
	asleep := t.s.quiet()
	t.s.m.mu.Unlock()
	t.s.m.sleep(t.s, d)
	return asleep
}

type ticker struct{ s *sleeper }

func (t ticker) Chan() <-chan time.Time { return t.s.c }

func (t ticker) Stop() {
	t.s.m.mu.Lock()
	defer t.s.m.mu.Unlock()
	t.s.quiet()
}

func (t ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("linesim: non-positive interval for Ticker.Reset")
	}
	t.s.m.mu.Lock()
	t.s.quiet()
	t.s.every = d
	t.s.m.mu.Unlock()
	t.s.m.sleep(t.s, d)
}
