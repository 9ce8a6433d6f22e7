package linesim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line/linesim"
)

func machine(t *testing.T, file string) (*linesim.TimeMachine, *clockwork.FakeClock) {
	t.Helper()
	base := clockwork.NewFakeClockAt(noon)
	m, err := linesim.OpenTimeMachine(base, file)
	if err != nil {
		t.Fatal(err)
	}
	return m, base
}

// rings reports whether a channel has something now.
func rings(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestTheTimeMachineRunsOnWithItsBaseAndJumps(t *testing.T) {
	t.Parallel()
	m, base := machine(t, "")
	if !m.Now().Equal(noon) {
		t.Errorf("starts at %v", m.Now())
	}
	if err := m.Advance(2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	base.Advance(time.Minute)
	if want := noon.Add(2*time.Hour + time.Minute); !m.Now().Equal(want) {
		t.Errorf("%v, want %v", m.Now(), want)
	}
	if err := m.Set(noon.Add(-24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	base.Advance(time.Minute)
	if want := noon.Add(-24*time.Hour + time.Minute); !m.Now().Equal(want) {
		t.Errorf("%v, want %v", m.Now(), want)
	}
	if d := m.Since(noon.Add(-24 * time.Hour)); d != time.Minute {
		t.Errorf("since %v", d)
	}
	if d := m.Until(noon); d != 24*time.Hour-time.Minute {
		t.Errorf("until %v", d)
	}
}

func TestTimersRingWhenTheTimeMachineIsMovedOverThem(t *testing.T) {
	t.Parallel()
	m, base := machine(t, "")
	timer, after, late := m.NewTimer(time.Hour), m.After(30*time.Minute), m.NewTimer(3*time.Hour)
	if err := m.Advance(59 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if !rings(after) || rings(timer.Chan()) {
		t.Error("after 59 minutes")
	}
	base.Advance(time.Minute) // the base's alarm rings in a goroutine of its own
	<-timer.Chan()
	if rings(late.Chan()) {
		t.Error("the three hours have not passed")
	}
	if !late.Stop() || late.Stop() {
		t.Error("Stop does not tell whether the timer was running")
	}
	if err := m.Advance(3 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if rings(late.Chan()) {
		t.Error("a stopped timer rang")
	}
	if late.Reset(time.Minute) {
		t.Error("Reset says the stopped timer was running")
	}
	if err := m.Advance(time.Minute); err != nil {
		t.Fatal(err)
	}
	if !rings(late.Chan()) {
		t.Error("a timer set anew did not ring")
	}
	// Moved back, a timer waits for its instant.
	again := m.NewTimer(10 * time.Minute)
	if err := m.Advance(-time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := m.Advance(65 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if rings(again.Chan()) {
		t.Error("rang five minutes early")
	}
	if err := m.Advance(5 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if !rings(again.Chan()) {
		t.Error("did not ring at its instant")
	}
	if !rings(m.After(0)) || !rings(m.After(-time.Second)) {
		t.Error("what is due at once does not ring at once")
	}
}

func TestATickerRingsOnceForAJumpAndKeepsItsBeat(t *testing.T) {
	t.Parallel()
	m, _ := machine(t, "")
	ticker := m.NewTicker(15 * time.Minute)
	if err := m.Advance(50 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if !rings(ticker.Chan()) || rings(ticker.Chan()) {
		t.Error("a jump over three beats")
	}
	if err := m.Advance(10 * time.Minute); err != nil { // the fourth beat, an hour after the start
		t.Fatal(err)
	}
	if !rings(ticker.Chan()) {
		t.Error("lost its beat")
	}
	ticker.Reset(time.Hour)
	if err := m.Advance(59 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if rings(ticker.Chan()) {
		t.Error("kept the old beat")
	}
	ticker.Stop()
	if err := m.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if rings(ticker.Chan()) {
		t.Error("a stopped ticker rang")
	}
}

func TestAfterFuncRunsOnceUnlessStopped(t *testing.T) {
	t.Parallel()
	m, _ := machine(t, "")
	ran := make(chan int, 3)
	m.AfterFunc(time.Hour, func() { ran <- 1 })
	stopped := m.AfterFunc(time.Hour, func() { ran <- 2 })
	if !stopped.Stop() {
		t.Error("was not waiting")
	}
	if err := m.Advance(2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := <-ran; got != 1 {
		t.Errorf("ran %d", got)
	}
	m.AfterFunc(0, func() { ran <- 3 })
	if got := <-ran; got != 3 {
		t.Errorf("ran %d", got)
	}
}

func TestTimersOfManyGoroutinesAllRing(t *testing.T) {
	t.Parallel()
	m, base := machine(t, "")
	const n = 20
	set, rung := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			timer := m.NewTimer(time.Duration(i+1) * time.Minute)
			set <- struct{}{}
			<-timer.Chan()
			rung <- struct{}{}
		}()
	}
	for range n {
		<-set
	}
	// Half of them by the base's own time, the others by a move.
	base.Advance(n / 2 * time.Minute)
	for range n / 2 {
		<-rung
	}
	if err := m.Advance(n / 2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	for range n / 2 {
		<-rung
	}
}

func TestTheTimeMachineKeepsItsOffsetInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "clock.json")
	m, base := machine(t, file)
	if err := m.Advance(36 * time.Hour); err != nil {
		t.Fatal(err)
	}
	base.Advance(time.Minute)
	again, err := linesim.OpenTimeMachine(base, file)
	if err != nil || !again.Now().Equal(m.Now()) {
		t.Errorf("opened again at %v, want %v (%v)", again.Now(), m.Now(), err)
	}
	if err := os.WriteFile(file, []byte("soon"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := linesim.OpenTimeMachine(base, file); err == nil {
		t.Error("a broken file was taken")
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	was := m.Now()
	if err := m.Advance(time.Hour); err == nil || !m.Now().Equal(was) {
		t.Errorf("moved to %v without keeping it (%v)", m.Now(), err)
	}
}
