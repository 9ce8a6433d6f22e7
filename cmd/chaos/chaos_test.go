package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"shiftpost/db/roster"
)

// TestMain makes this program the victim when a test starts it as such.
func TestMain(m *testing.M) {
	if config := os.Getenv(victimVariable); config != "" {
		if err := beVictim(config, os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString("victim: " + err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runSmall makes a small run in a folder of the test.
func runSmall(t *testing.T, broken string) report {
	t.Helper()
	s := settings{seed: uint64(time.Now().UnixNano()), deliveries: 200, kills: 10, speed: 60, broken: broken, dir: t.TempDir()}
	r, err := carryOut(t.Context(), s)
	if err != nil {
		said, _ := os.ReadFile(s.dir + "/victim.log")
		t.Fatalf("seed %d: %v\n%s", s.seed, err, said)
	}
	var b strings.Builder
	r.print(&b)
	t.Logf("seed %d\n%s", s.seed, b.String())
	if err := r.check(broken); err != nil {
		said, _ := os.ReadFile(s.dir + "/victim.log")
		t.Errorf("seed %d: %v\n%s", s.seed, err, said)
	}
	return r
}

func TestNothingIsLostOrDoubledHoweverOftenTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	r := runSmall(t, "")
	if r.made < 200 || r.kills != 10 || r.delivered == 0 {
		t.Errorf("%d deliveries were made, %d kills done and %d messages delivered", r.made, r.kills, r.delivered)
	}
}

func TestANewKeyAtEachTryWouldBeNoticed(t *testing.T) {
	t.Parallel()
	if r := runSmall(t, breakNewKey); len(r.lost) > 0 {
		t.Errorf("new keys lost %v", r.lost)
	}
}

func TestAMissingRecoveryWouldBeNoticed(t *testing.T) {
	t.Parallel()
	if r := runSmall(t, breakNoRecover); len(r.doubled) > 0 {
		t.Errorf("a missing recovery doubled %v", r.doubled)
	}
}

func TestAVictimThatEndsByItselfEndsTheRun(t *testing.T) {
	t.Parallel()
	p := newProcess(victimConfig{Dir: t.TempDir(), LINEURL: "http://127.0.0.1:1", LIFFURL: "http://127.0.0.1:1", LIFFID: "1234567890-AbcdEfgh", TimeoutS: 1},
		func() clockFace { return clockFace{Zero: time.Now(), From: time.Now(), Speed: 1} }, io.Discard)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	if err := p.life.cmd.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	// Until it is gone it may still answer.
	for {
		err := p.ask(t.Context(), http.MethodGet, "/state", nil, nil)
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "ended by itself") {
			t.Errorf("asking it answered %v", err)
		}
		return
	}
}

func TestTwoClocksOfOneFaceShowTheSameTime(t *testing.T) {
	t.Parallel()
	from := time.Date(2027, 1, 8, 0, 5, 0, 0, time.UTC)
	face := clockFace{Zero: time.Now().Add(-time.Second), From: from, Speed: 60, Offset: time.Hour}
	one, err := face.start()
	if err != nil {
		t.Fatal(err)
	}
	two, err := face.start()
	if err != nil {
		t.Fatal(err)
	}
	before, between, after := one.Now(), two.Now(), one.Now()
	if between.Before(before) || after.Before(between) {
		t.Errorf("the clocks show %s, %s, %s", before, between, after)
	}
	if passed := before.Sub(from); passed < time.Hour+time.Minute {
		t.Errorf("after a second and a jump of an hour the clock has gone %s", passed)
	}
	rung := one.After(time.Minute)
	if rang := <-rung; rang.Sub(after) < time.Minute {
		t.Errorf("a timer of a minute rang after %s", rang.Sub(after))
	}
}

func TestWhatIsLostAndWhatIsDoubled(t *testing.T) {
	t.Parallel()
	day := roster.Date{Year: 2027, Month: time.January, Day: 8}
	early, late := roster.TimeRange{Start: 14 * 60, End: 20 * 60}, roster.TimeRange{Start: 15 * 60, End: 21 * 60}
	const (
		reminder     = "出勤のお知らせ：2027年1月8日(金) 14:00–20:00 教室1"
		correction   = "シフトの変更：2027年1月8日(金) 15:00–21:00 教室1"
		cancellation = "シフトの取消：2027年1月8日(金)"
		first        = "2027年2月のシフト表 第1版を公開しました"
		second       = "2027年2月のシフト表を更新しました（第2版）"
	)
	anna := func(is *roster.TimeRange) []*person {
		return []*person{{teacherID: 1, groupID: 1, lineID: "U1", classroom: "教室1", day: day, shiftID: 7, is: is}}
	}
	february := func(number int) []*board {
		return []*board{{groupID: 1, lineID: "C1", month: roster.Month{Year: 2027, Month: time.February}, number: number}}
	}
	noon := time.Date(2027, 1, 8, 3, 0, 0, 0, time.UTC)
	// got are pushes a minute apart; those that begin with a minus were not accepted.
	got := func(to string, says ...string) []push {
		var all []push
		for i, s := range says {
			words, refused := strings.CutPrefix(s, "-")
			all = append(all, push{at: noon.Add(time.Duration(i) * time.Minute), to: to, body: words, says: words, accepted: !refused})
		}
		return all
	}
	back := func(p []*person) []*person {
		p[0].wentBack = map[roster.TimeRange]bool{early: true}
		return p
	}
	notice := func(id int64, state roster.DeliveryState, code roster.Code) shownDelivery {
		return shownDelivery{ID: id, State: state, Code: code, TeacherID: 1, ShiftID: 7}
	}
	announcement := func(number int, state roster.DeliveryState, code roster.Code) shownDelivery {
		return shownDelivery{ID: int64(number), State: state, Code: code, GroupID: 1, Month: "2027-02", Number: number}
	}
	for _, c := range []struct {
		name    string
		people  []*person
		boards  []*board
		got     []push
		kills   []time.Time
		shown   []shownDelivery
		lost    int
		doubled int
	}{
		{name: "a reminder arrived", people: anna(&early), got: got("U1", reminder)},
		{name: "a reminder did not arrive", people: anna(&early), lost: 1},
		{name: "it arrived at somebody else", people: anna(&early), got: got("U2", reminder), lost: 1},
		{name: "it waits for ever", people: anna(&early), shown: []shownDelivery{notice(1, roster.Queued, "HTTP_500")}, lost: 1},
		{name: "it is shown as failed", people: anna(&early), shown: []shownDelivery{notice(1, roster.Failed, "HTTP_400")}},
		{name: "it is shown as too late", people: anna(&early), shown: []shownDelivery{notice(1, roster.Canceled, roster.CodeShiftStarted)}},
		{name: "it was called off without a reason that counts", people: anna(&early), shown: []shownDelivery{notice(1, roster.Canceled, roster.CodeNoLongerNeeded)}, lost: 1},
		{name: "an older failure explains nothing", people: anna(&early), shown: []shownDelivery{notice(1, roster.Failed, "HTTP_400"), notice(2, roster.Queued, "")}, lost: 1},
		{name: "it arrived twice", people: anna(&early), got: got("U1", reminder, reminder), doubled: 1},
		{name: "it arrived three times", people: anna(&early), got: got("U1", reminder, reminder, reminder), doubled: 2},
		{name: "it was tried twice and arrived once", people: anna(&early), got: got("U1", "-"+reminder, reminder)},
		{name: "it arrived twice although the shift went away and back", people: back(anna(&early)), got: got("U1", reminder, reminder), doubled: 1},
		{name: "it arrived again after the shift went away and back, of which the teacher was told", people: back(anna(&early)), got: got("U1", reminder, correction, reminder)},
		{name: "it arrived again after the shift went away and back, of which the teacher may have been told", people: back(anna(&early)), got: got("U1", reminder, "-"+correction, reminder)},
		{name: "it arrived again after the shift went away and back, and a kill between", people: back(anna(&early)), got: got("U1", reminder, reminder), kills: []time.Time{noon.Add(time.Second)}},
		{name: "it arrived again after the shift went away and back, and a kill before", people: back(anna(&early)), got: got("U1", reminder, reminder), kills: []time.Time{noon.Add(-time.Second)}, doubled: 1},
		{name: "it arrived again with a word between, but was not so again", people: anna(&early), got: got("U1", reminder, correction, reminder), doubled: 1},
		{name: "a correction arrived", people: anna(&late), got: got("U1", reminder, correction)},
		{name: "a correction did not arrive", people: anna(&late), got: got("U1", reminder), lost: 1},
		{name: "an older word came after the newer one", people: anna(&late), got: got("U1", correction, reminder), lost: 1},
		{name: "a cancellation arrived", people: anna(nil), got: got("U1", reminder, cancellation)},
		{name: "a cancellation did not arrive", people: anna(nil), got: got("U1", reminder), lost: 1},
		{name: "what was never told needs no cancellation", people: anna(nil)},
		{name: "a month arrived", boards: february(1), got: got("C1", first)},
		{name: "a month did not arrive", boards: february(1), lost: 1},
		{name: "a month is shown as failed", boards: february(1), shown: []shownDelivery{announcement(1, roster.Failed, "HTTP_403")}},
		{name: "a month arrived twice", boards: february(1), got: got("C1", first, first), kills: []time.Time{noon}, doubled: 1},
		{name: "an update arrived", boards: february(2), got: got("C1", first, second)},
		{name: "an update arrived alone", boards: february(2), got: got("C1", second)},
		{name: "an update did not arrive", boards: february(2), got: got("C1", first), lost: 1},
		{name: "the old month came after the new one", boards: february(2), got: got("C1", second, first), lost: 1},
		{name: "the failure of an old version explains nothing", boards: february(2), shown: []shownDelivery{announcement(1, roster.Failed, "HTTP_403")}, lost: 1},
	} {
		v := judge(c.people, c.boards, c.got, c.kills, c.shown)
		if len(v.lost) != c.lost || len(v.doubled) != c.doubled {
			t.Errorf("%s: lost %v, doubled %v; want %d and %d", c.name, v.lost, v.doubled, c.lost, c.doubled)
		}
	}
}
