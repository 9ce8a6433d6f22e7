package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// wall is what hangs on the wall of the teachers' room, and who can be written to: the truth, written down from the
// rules alone.
type wall struct {
	shifts   map[int64]*wallShift
	teachers map[int64]*wallTeacher
}

type wallShift struct {
	teacher   int64
	work      wallWork
	confirmed bool
	deleted   bool
	version   int64
}

// wallWork is what a teacher must know of a shift.
type wallWork struct {
	day, hour int // of January 2027; shifts take two hours and begin on the hour
	classroom int
}

type wallTeacher struct {
	user   int // LINE user, 0 for none
	on     bool
	active bool
}

// start is the instant a shift begins. Tokyo has no daylight saving time.
func (w wallWork) start() time.Time { return time.Date(2027, 1, w.day, w.hour-9, 0, 0, 0, time.UTC) }

// String writes it as a message does.
func (w wallWork) String() string {
	clock := func(hour int) string {
		if hour >= 24 {
			return fmt.Sprintf("翌%d:00", hour-24)
		}
		return fmt.Sprintf("%d:00", hour)
	}
	weekday := []string{"日", "月", "火", "水", "木", "金", "土"}[time.Date(2027, 1, w.day, 0, 0, 0, 0, time.UTC).Weekday()]
	return fmt.Sprintf("2027年1月%d日(%s) %s–%s %s", w.day, weekday, clock(w.hour), clock(w.hour+2), []string{"駅前教室", "本町教室"}[w.classroom])
}

// works lists what a teacher's confirmed shifts say.
func (w *wall) works(teacher int64) []wallWork {
	var all []wallWork
	for _, s := range w.shifts {
		if s.confirmed && s.teacher == teacher {
			all = append(all, s.work)
		}
	}
	return all
}

// told is a message about a shift that was tried to a LINE user, and whether LINE took it then.
type told struct {
	n        int // request, counted
	at       time.Time
	delivery int64
	key      string
	user     int
	shift    int64
	kind     string // 出勤のお知らせ, シフトの変更, シフトの取消
	works    []string
	took     bool
}

// says reports whether it tells of the work.
func (m told) says(w wallWork) bool {
	return m.kind != "シフトの取消" && slices.Contains(m.works, w.String())
}

// about names a person and a shift.
type about struct {
	user  int
	shift int64
}

func (m told) about() about { return about{m.user, m.shift} }

// known is what somebody who sees LINE's answers knows that a person was told of a shift by one notice.
type known struct {
	told
	sure    bool
	unknown bool // a try of it had no answer
}

// noticeRun is one random story about people who are told of shifts.
type noticeRun struct {
	*story
	tb     testing.TB
	t      *rapid.T
	wall   wall
	log    []told
	known  map[about][]known
	latest time.Time // the clock has shown
	swept  bool      // since the clock last moved
	hangs  int       // requests that will get no answer
	meddle func()    // what happens while a request is in flight
	client *line.Client
	hasty  *line.Client
}

func newNoticeRun(t *rapid.T, tb testing.TB) *noticeRun {
	r := &noticeRun{story: newStory(tb), tb: tb, t: t, wall: wall{map[int64]*wallShift{}, map[int64]*wallTeacher{}}, known: map[about][]known{}}
	r.latest = r.Store.Now()
	for i, v := range r.Teachers {
		r.wall.teachers[v.ID] = &wallTeacher{on: true, active: true, user: []int{1, 2, 0}[i]}
	}
	r.client = newClient(r.School, r.sim)
	r.hasty = line.NewClient(line.Options{BaseURL: r.sim.BaseURL(), Token: r.sim.Channel().AccessToken, Timeout: 50 * time.Millisecond, Clock: r.Clock})
	r.runner = jobs.NewRunner(jobs.RunnerOptions{Store: r.Store, LINE: scribe{r.client, r}, Clock: r.Clock, Logger: quiet()})
	return r
}

// scribe is LINE to the runner; the run writes down what is said to whom.
type scribe struct {
	*line.Client
	run *noticeRun
}

// Push has the run look at what goes and at whether LINE took it.
func (s scribe) Push(ctx context.Context, body []byte, key string) (line.Answer, error) {
	return s.run.push(ctx, body, key)
}

func (r *noticeRun) push(ctx context.Context, body []byte, key string) (line.Answer, error) {
	var sending db.DeliveryRow
	for _, d := range r.rows() {
		if d.State == roster.Processing && d.RetryKey == key {
			sending = d
		}
	}
	m := r.read(sending, body)
	r.begins(m)
	if r.meddle != nil {
		do := r.meddle
		r.meddle = nil
		do()
	}
	client := r.client
	if r.hangs > 0 {
		r.hangs--
		client = r.hasty
	}
	before := len(r.sim.Accepted())
	answer, err := client.Push(ctx, body, key)
	m.took = len(r.sim.Accepted()) > before
	r.log = append(r.log, m)
	var refusal *line.Error
	r.ends(m, err == nil, errors.As(err, &refusal) && refusal.Class != line.Unknown)
	return answer, err
}

// begins writes down that a message begins to be sent: from now on they may have been told it.
func (r *noticeRun) begins(m told) {
	r.allowed(m)
	all := r.known[m.about()]
	if !slices.ContainsFunc(all, func(k known) bool { return k.delivery == m.delivery }) {
		r.known[m.about()] = append(all, known{told: m})
	}
}

// ends writes down what LINE answered, if anything.
func (r *noticeRun) ends(m told, accepted, refused bool) {
	all := r.known[m.about()]
	i := slices.IndexFunc(all, func(k known) bool { return k.delivery == m.delivery })
	switch {
	case accepted:
		r.known[m.about()] = []known{{told: m, sure: true}}
	case !refused:
		all[i].unknown = true
	case !all[i].unknown:
		r.known[m.about()] = slices.Delete(all, i, i+1)
	}
}

// untrue reports whether something that a person was told of a shift, or may have been, is not so.
func (r *noticeRun) untrue(id int64, a about) bool {
	s := r.wall.shifts[a.shift]
	mine := r.wall.works(id)
	return slices.ContainsFunc(r.known[a], func(k known) bool {
		if k.kind == "シフトの取消" {
			return s.confirmed && s.teacher == id
		}
		return !slices.ContainsFunc(mine, k.says)
	})
}

func (r *noticeRun) rows() []db.DeliveryRow {
	rows, err := r.Store.Deliveries(r.tb.Context(), db.DeliveryFilter{Limit: 10000})
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

var alternative = regexp.MustCompile(`"altText":"(出勤のお知らせ|シフトの変更|シフトの取消)：([^"]*)"`)

// read takes a message apart as its reader does.
func (r *noticeRun) read(d db.DeliveryRow, body []byte) told {
	parts := alternative.FindStringSubmatch(string(body))
	if parts == nil {
		r.t.Fatalf("a message says nothing known: %s", body)
	}
	m := told{n: len(r.log), at: r.Store.Now(), delivery: d.ID, key: d.RetryKey, shift: d.ShiftID, kind: parts[1], works: strings.Split(parts[2], "・")}
	for n := 1; n <= 5; n++ {
		if d.LINEID == dbtest.LINEUserID(n) {
			m.user = n
		}
	}
	return m
}

// teacherOf returns the teacher who is linked to a LINE user now.
func (r *noticeRun) teacherOf(user int) (int64, *wallTeacher) {
	for id, v := range r.wall.teachers {
		if v.user == user && user != 0 {
			return id, v
		}
	}
	return 0, nil
}

// allowed fails the story when a message that begins to be sent now is not so.
func (r *noticeRun) allowed(m told) {
	id, v := r.teacherOf(m.user)
	if v == nil || !v.on || (!v.active && m.kind != "シフトの取消") {
		r.t.Fatalf("LINE user %d, who is linked to nobody or does not want it or left, gets %s %v", m.user, m.kind, m.works)
	}
	var mine []string
	for _, w := range r.wall.works(id) {
		mine = append(mine, w.String())
	}
	s := r.wall.shifts[m.shift]
	if m.kind != "出勤のお知らせ" && !r.untrue(id, m.about()) {
		t := r.t
		t.Fatalf("LINE user %d gets %s %v, and knows nothing else of shift %d\n%s", m.user, m.kind, m.works, m.shift, r.history(r.rows(), m.user, m.shift))
	}
	for _, w := range m.works {
		if so := slices.Contains(mine, w); so == (m.kind == "シフトの取消") {
			r.t.Fatalf("LINE user %d gets %s %s, and teacher %d works %v", m.user, m.kind, w, id, mine)
		}
	}
	if m.kind == "シフトの取消" && s.confirmed && s.teacher == id {
		r.t.Fatalf("LINE user %d is told that shift %d is off, which is %+v", m.user, m.shift, *s)
	}
	if m.kind != "シフトの取消" {
		if !s.confirmed || s.teacher != id || !m.says(s.work) {
			r.t.Fatalf("LINE user %d is told %v of shift %d, which is %+v", m.user, m.works, m.shift, *s)
		}
		if m.kind == "出勤のお知らせ" && !s.work.start().After(r.Store.Now()) {
			r.t.Fatalf("a reminder of %s goes after its start", s.work)
		}
	}
}

// The hands of the admin.

var hours = []int{16, 17, 17, 17, 18, 18, 20, 23}

func (r *noticeRun) drawWork(t *rapid.T) wallWork {
	return wallWork{day: rapid.SampledFrom([]int{8, 8, 8, 8, 9, 10}).Draw(t, "day"), hour: rapid.SampledFrom(hours).Draw(t, "hour"), classroom: rapid.IntRange(0, 1).Draw(t, "classroom")}
}

func (r *noticeRun) drawTeacher(t *rapid.T) int64 {
	return r.Teachers[rapid.IntRange(0, 2).Draw(t, "teacher")].ID
}

// drawShift chooses a shift that is not deleted.
func (r *noticeRun) drawShift(t *rapid.T) (int64, *wallShift) {
	var ids []int64
	for id, s := range r.wall.shifts {
		if !s.deleted {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "shift")
	return id, r.wall.shifts[id]
}

func (r *noticeRun) form(teacher int64, w wallWork) db.ShiftEdit {
	return db.ShiftEdit{TeacherID: teacher, ClassroomID: r.Classrooms[w.classroom].ID, Date: roster.Date{Year: 2027, Month: 1, Day: w.day},
		Times: roster.TimeRange{Start: roster.Minutes(60 * w.hour), End: roster.Minutes(60 * (w.hour + 2))}}
}

// refused reports whether the product may refuse an edit: the teacher works then already, or left.
func (r *noticeRun) refused(t *rapid.T, err error) bool {
	var overlap *db.OverlapError
	if err != nil && !errors.As(err, &overlap) && !errors.Is(err, db.ErrTeacherArchived) {
		t.Fatal(err)
	}
	return err != nil
}

func (r *noticeRun) add(t *rapid.T) {
	teacher, w := r.drawTeacher(t), r.drawWork(t)
	state := rapid.SampledFrom([]roster.ShiftState{roster.ShiftConfirmed, roster.ShiftConfirmed, roster.ShiftDraft}).Draw(t, "state")
	x, err := r.Store.AddShift(r.tb.Context(), r.form(teacher, w), state)
	if r.refused(t, err) {
		return
	}
	r.wall.shifts[x.ID] = &wallShift{teacher: teacher, work: w, confirmed: state == roster.ShiftConfirmed, version: 1}
}

func (r *noticeRun) edit(t *rapid.T) {
	id, s := r.drawShift(t)
	if s == nil {
		return
	}
	after := *s
	switch rapid.SampledFrom([]string{"hour", "hour", "day", "classroom", "teacher", "note"}).Draw(t, "what") {
	case "hour":
		after.work.hour = rapid.SampledFrom(hours).Draw(t, "hour")
	case "day":
		after.work.day = rapid.SampledFrom([]int{8, 8, 9, 10}).Draw(t, "day")
	case "classroom":
		after.work.classroom = 1 - after.work.classroom
	case "teacher":
		after.teacher = r.drawTeacher(t)
	}
	now, err := r.Store.Shift(r.tb.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	form := r.form(after.teacher, after.work)
	form.Note = rapid.SampledFrom([]string{"", "鍵当番"}).Draw(t, "note")
	if _, err := r.Store.ChangeShift(r.tb.Context(), id, now.EditNumber, form); r.refused(t, err) {
		return
	}
	if after != *s {
		after.version++
	}
	*s = after
}

func (r *noticeRun) put(t *rapid.T) {
	id, s := r.drawShift(t)
	if s == nil {
		return
	}
	to := rapid.SampledFrom([]roster.ShiftState{roster.ShiftConfirmed, roster.ShiftDraft, roster.ShiftDeleted}).Draw(t, "to")
	now, err := r.Store.Shift(r.tb.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Store.MoveShift(r.tb.Context(), id, now.EditNumber, to); err != nil {
		t.Fatal(err)
	}
	if now.State != to {
		s.version++
	}
	s.confirmed, s.deleted = to == roster.ShiftConfirmed, to == roster.ShiftDeleted
}

// editAndSend is an edit that is sent after the undo window.
func (r *noticeRun) editAndSend(t *rapid.T) {
	[]func(*rapid.T){r.edit, r.edit, r.edit, r.put}[rapid.IntRange(0, 3).Draw(t, "edit")](t)
	r.passTime(30 * time.Second)
	r.sweep(t)
	r.work(t)
}

// anyEdit is one of the edits of a shift.
func (r *noticeRun) anyEdit(t *rapid.T) {
	[]func(*rapid.T){r.add, r.edit, r.edit, r.put}[rapid.IntRange(0, 3).Draw(t, "edit")](t)
}

func (r *noticeRun) relink(t *rapid.T) {
	id := r.drawTeacher(t)
	user := rapid.IntRange(0, 5).Draw(t, "user")
	var err error
	if user == 0 {
		err = r.Store.UnlinkTeacher(r.tb.Context(), id)
	} else {
		err = r.Store.LinkTeacher(r.tb.Context(), id, dbtest.LINEUserID(user))
	}
	if errors.Is(err, db.ErrLinkTaken) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	r.wall.teachers[id].user = user
}

func (r *noticeRun) switchOver(t *rapid.T) {
	id := r.drawTeacher(t)
	v := r.wall.teachers[id]
	err := r.Store.SetNotices(r.tb.Context(), id, !v.on)
	switch {
	case err == nil:
		v.on = !v.on
	case v.active:
		t.Fatal(err)
	}
}

func (r *noticeRun) leaveOrReturn(t *rapid.T) {
	id := r.drawTeacher(t)
	v := r.wall.teachers[id]
	var err error
	if v.active {
		err = r.Store.ArchiveTeacher(r.tb.Context(), id)
	} else {
		err = r.Store.RestoreTeacher(r.tb.Context(), id)
	}
	var use *db.InUseError
	switch {
	case err == nil:
		v.active = !v.active
	case !errors.As(err, &use):
		t.Fatal(err)
	}
}

func (r *noticeRun) retry(t *rapid.T) {
	for _, d := range r.rows() {
		if d.State != roster.Failed {
			continue
		}
		err := r.Store.RetryDelivery(r.tb.Context(), d.ID, r.Admin.ID, false)
		var unwanted *db.NotWantedError
		if err != nil && !errors.As(err, &unwanted) && !errors.Is(err, db.ErrLive) && !errors.Is(err, db.ErrMayHaveArrived) {
			t.Fatal(err)
		}
	}
}

// LINE, the clock and the program.

func (r *noticeRun) fail(t *rapid.T) {
	if slices.ContainsFunc(r.sim.Faults(), func(f linesim.Fault) bool { return f.Taken < f.Count }) {
		return
	}
	f := rapid.SampledFrom([]linesim.Fault{
		{Kind: linesim.FaultStatus, Status: 500}, {Kind: linesim.FaultStatus, Status: 503, Accept: true}, {Kind: linesim.FaultCut}, {Kind: linesim.FaultCut, Accept: true},
		{Kind: linesim.FaultStatus, Status: 400}, {Kind: linesim.FaultStatus, Status: 409}, {Kind: linesim.FaultTruncate}, {Kind: linesim.FaultToken}, {Kind: linesim.FaultMonthly},
		{Kind: linesim.FaultHang}, {Kind: linesim.FaultHang, Accept: true},
	}).Draw(t, "fault")
	f.Endpoint, f.Count = "push", rapid.SampledFrom([]int{1, 1, 2, 7}).Draw(t, "count")
	if f.Kind == linesim.FaultHang {
		f.Count = 1
		r.hangs = 1
	}
	if _, err := r.sim.AddFault(f); err != nil {
		t.Fatal(err)
	}
}

// work does all that is due.
func (r *noticeRun) work(*rapid.T) { r.step(r.tb) }

// workMeddled does one job and lets an admin edit while its request is in flight.
func (r *noticeRun) workMeddled(t *rapid.T) {
	r.meddle = func() {
		for range rapid.IntRange(1, 2).Draw(t, "edits") {
			r.anyEdit(t)
		}
	}
	if err := r.runner.RunOnce(r.tb.Context()); err != nil && !errors.Is(err, queue.ErrNone) {
		t.Fatal(err)
	}
	r.meddle = nil
}

func (r *noticeRun) wait(t *rapid.T) {
	r.passTime(rapid.SampledFrom([]time.Duration{time.Second, 29 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 15 * time.Minute, 45 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 25 * time.Hour, -time.Minute, -9 * time.Minute}).Draw(t, "wait"))
	if rapid.Bool().Draw(t, "sweep") {
		r.sweep(t)
	}
}

// passTime moves the clock, never more than ten minutes behind what it once showed.
func (r *noticeRun) passTime(d time.Duration) {
	if r.latest.Sub(r.Store.Now().Add(d)) > 10*time.Minute {
		return
	}
	r.Clock.Advance(d)
	r.swept = false
	if now := r.Store.Now(); now.After(r.latest) {
		r.latest = now
	}
}

func (r *noticeRun) sweep(*rapid.T) {
	r.remind(r.tb)
	r.swept = true
}

func (r *noticeRun) recovery(t *rapid.T) {
	if _, err := r.Store.RecoverDeliveries(r.tb.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r *noticeRun) resume(t *rapid.T) {
	for _, cause := range []roster.HoldCause{roster.HoldRateLimit, roster.HoldUnauthorized, roster.HoldMonthlyLimit} {
		if err := r.Store.EndHold(r.tb.Context(), cause); err != nil {
			t.Fatal(err)
		}
	}
}

// kill claims what is due as a process that is gone before it can write the answer down, after LINE accepted it or not.
func (r *noticeRun) kill(t *rapid.T) {
	gone, err := db.Open(r.tb.Context(), db.Options{Dir: r.Store.Dir(), Clock: r.Clock, Location: dbtest.Tokyo, Logger: quiet(), Compose: newComposer(r.tb)})
	if err != nil {
		t.Fatal(err)
	}
	try, err := dbtest.ClaimTry(r.tb.Context(), gone)
	if err == nil && try != nil {
		for _, d := range r.rows() {
			if d.ID != try.DeliveryID {
				continue
			}
			m := r.read(d, try.Body)
			r.begins(m)
			if rapid.Bool().Draw(t, "asked") {
				before := len(r.sim.Accepted())
				_, _ = r.client.Push(r.tb.Context(), try.Body, try.RetryKey) // nobody lives to read the answer
				m.took = len(r.sim.Accepted()) > before
			}
			r.log = append(r.log, m)
			r.ends(m, false, false)
		}
		if rapid.Bool().Draw(t, "edited") {
			r.anyEdit(t)
		}
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Store.RecoverOrphans(r.tb.Context()); err != nil {
		t.Fatal(err)
	}
}

// The judge.

// judge compares what people read with what is so, when the sweep has run and all that is due was worked.
func (r *noticeRun) judge(t *rapid.T) {
	r.judgeTwice(t)
	if due, err := r.Store.NextDue(r.tb.Context()); !r.swept || (err == nil && !due.After(r.Store.Now())) {
		return
	}
	rows := r.rows()
	for user := 1; user <= 5; user++ {
		id, v := r.teacherOf(user)
		if v == nil {
			continue
		}
		for shiftID, s := range r.wall.shifts {
			if r.excused(rows, user, shiftID) {
				continue
			}
			r.judgeTold(t, rows, id, v, shiftID, s)
			r.judgeKnown(t, rows, id, v, shiftID, s)
			r.judgeReminded(t, id, v, shiftID, s)
		}
	}
}

// excused reports whether a live notice of the shift to the person exists, or a failed one that is shown as one that
// somebody must look at: it could be sent again.
func (r *noticeRun) excused(rows []db.DeliveryRow, user int, shiftID int64) bool {
	s := r.wall.shifts[shiftID]
	for _, d := range rows {
		if d.ShiftID != shiftID || d.LINEID != dbtest.LINEUserID(user) {
			continue
		}
		switch d.State {
		case roster.Pending, roster.Queued, roster.Processing:
			return true
		case roster.Failed:
			v := r.wall.teachers[d.TeacherID]
			theirs := s.confirmed && s.teacher == d.TeacherID
			wanted := v.user == user && v.on && d.DeadlineAt.After(r.Store.Now())
			if d.Kind == roster.ShiftCancellation {
				wanted = wanted && !theirs
			} else {
				wanted = wanted && theirs && v.active && d.ShiftVersion == s.version
			}
			if wanted {
				return true
			}
		}
	}
	return false
}

// judgeTold: what a person was last told of a shift is so, or it is too late to say otherwise.
func (r *noticeRun) judgeTold(t *rapid.T, rows []db.DeliveryRow, id int64, v *wallTeacher, shiftID int64, s *wallShift) {
	last, ok := told{}, false
	for _, m := range r.log {
		if m.took && m.user == v.user && m.shift == shiftID {
			last, ok = m, true
		}
	}
	theirs := s.confirmed && s.teacher == id
	now := r.Store.Now()
	ahead := theirs && s.work.start().After(now)
	so := !theirs
	if last.kind != "シフトの取消" {
		so = false
		for _, w := range r.wall.works(id) {
			so = so || last.says(w)
		}
		for _, w := range everyWork() {
			ahead = ahead || (last.says(w) && w.start().After(now))
		}
	}
	switch {
	case !ok, so, !ahead, !v.on, theirs && !v.active:
		return
	}
	if r.saidAlready(rows, v.user, shiftID, theirs) {
		return
	}
	t.Fatalf("LINE user %d was last told %s %v of shift %d, which is %+v (theirs: %v), and nothing is on its way or shown as failed\n%s", v.user, last.kind, last.works, shiftID, *s, theirs, r.history(rows, v.user, shiftID))
}

// saidAlready reports whether the notice that is needed was sent for the same version: to a LINE user who has changed
// hands twice since it cannot be sent again.
func (r *noticeRun) saidAlready(rows []db.DeliveryRow, user int, shiftID int64, theirs bool) bool {
	kind := roster.ShiftCancellation
	if theirs {
		kind = roster.ShiftCorrection
	}
	return slices.ContainsFunc(rows, func(d db.DeliveryRow) bool {
		return d.Kind == kind && d.ShiftID == shiftID && d.ShiftVersion == r.wall.shifts[shiftID].version && d.LINEID == dbtest.LINEUserID(user) && d.State == roster.Sent
	})
}

// judgeKnown: what a person may have been told is so, or it is too late to say otherwise.
func (r *noticeRun) judgeKnown(t *rapid.T, rows []db.DeliveryRow, id int64, v *wallTeacher, shiftID int64, s *wallShift) {
	a := about{v.user, shiftID}
	theirs := s.confirmed && s.teacher == id
	now := r.Store.Now()
	ahead := theirs && s.work.start().After(now)
	for _, k := range r.known[a] {
		for _, w := range everyWork() {
			ahead = ahead || (k.says(w) && w.start().After(now))
		}
	}
	if !ahead || !v.on || (theirs && !v.active) || !r.untrue(id, a) || r.saidAlready(rows, v.user, shiftID, theirs) {
		return
	}
	t.Fatalf("LINE user %d may have been told something of shift %d that is not so (it is %+v), and nothing is on its way or shown as failed\n%s", v.user, shiftID, *s, r.history(rows, v.user, shiftID))
}

// judgeReminded: inside its window a person has read what is so since the window opened.
func (r *noticeRun) judgeReminded(t *rapid.T, id int64, v *wallTeacher, shiftID int64, s *wallShift) {
	now := r.Store.Now()
	from := s.work.start().Add(-2*time.Hour - 15*time.Minute)
	if !s.confirmed || s.teacher != id || !v.on || !v.active || !s.work.start().After(now) || from.After(now) {
		return
	}
	for i, m := range slices.Backward(r.log) {
		// A notice that took over the key of one which had arrived was made inside the window, and says nothing new.
		arrived := m.took || slices.ContainsFunc(r.log[:i], func(e told) bool { return e.took && e.key == m.key && e.delivery != m.delivery })
		if arrived && m.user == v.user && m.says(s.work) && !m.at.Before(from) {
			return
		}
	}
	t.Fatalf("LINE user %d was not reminded of shift %d, %s, and nothing is on its way or shown as failed\n%s", v.user, shiftID, s.work, r.history(r.rows(), v.user, shiftID))
}

// judgeTwice: nobody reads the same twice, unless something else about the shift was tried in between or LINE has
// forgotten the key.
func (r *noticeRun) judgeTwice(t *rapid.T) {
	same := func(a, b told) bool { return a.kind == b.kind && slices.Equal(a.works, b.works) }
	for i, m := range r.log {
		for j, e := range r.log[:i] {
			if !m.took || !e.took || e.user != m.user || !same(e, m) || (m.kind == "シフトの取消" && e.shift != m.shift) {
				continue
			}
			between := slices.ContainsFunc(r.log[j+1:i], func(x told) bool {
				return x.user == m.user && (x.shift == e.shift || x.shift == m.shift) && !same(x, m)
			})
			if !between && m.at.Sub(r.firstTry(e.key)) < 24*time.Hour-10*time.Minute {
				t.Fatalf("LINE user %d reads %s %v twice, as delivery %d and as delivery %d\n%s", m.user, m.kind, m.works, e.delivery, m.delivery, r.history(r.rows(), m.user, m.shift))
			}
		}
	}
}

func (r *noticeRun) firstTry(key string) time.Time {
	for _, m := range r.log {
		if m.key == key {
			return m.at
		}
	}
	return time.Time{}
}

// everyWork lists all that can be told.
func everyWork() []wallWork {
	var all []wallWork
	for _, day := range []int{8, 9, 10} {
		for _, hour := range slices.Compact(slices.Clone(hours)) {
			all = append(all, wallWork{day, hour, 0}, wallWork{day, hour, 1})
		}
	}
	return all
}

// history tells what happened to a person and a shift, for a failure's message.
func (r *noticeRun) history(rows []db.DeliveryRow, user int, shiftID int64) string {
	b := "it is " + r.Store.Now().In(dbtest.Tokyo).Format("2 Jan 15:04:05") + "\n"
	for _, m := range r.log {
		if m.user == user && m.shift == shiftID {
			b += fmt.Sprintf("  %s delivery %d %s %v taken: %v\n", m.at.In(dbtest.Tokyo).Format("2 Jan 15:04:05"), m.delivery, m.kind, m.works, m.took)
		}
	}
	for _, d := range slices.Backward(rows) {
		if d.ShiftID == shiftID {
			b += fmt.Sprintf("  delivery %d of teacher %d version %d to %.2s%s: %s %s %s made %s due %s deadline %s\n", d.ID, d.TeacherID, d.ShiftVersion, d.LINEID, d.LINEID[max(0, len(d.LINEID)-1):], d.Kind, d.State, d.Code,
				d.CreatedAt.In(dbtest.Tokyo).Format("2 15:04:05"), d.DueAt.In(dbtest.Tokyo).Format("2 15:04:05"), d.DeadlineAt.In(dbtest.Tokyo).Format("2 15:04:05"))
		}
	}
	return b
}

// settle lets everything come to its end with LINE well again and judges on the way.
func (r *noticeRun) settle(t *rapid.T) {
	r.sim.ClearFaults()
	r.hangs = 0
	tick := func(d time.Duration) {
		r.passTime(d)
		r.resume(t)
		r.recovery(t)
		r.sweep(t)
		r.work(t)
		r.judge(t)
	}
	for range 3 {
		tick(31 * time.Second)
	}
	for range 6 {
		tick(25 * time.Minute)
	}
	tick(24 * time.Hour)
	tick(72 * time.Hour)
	tick(time.Hour)
	for _, d := range r.rows() {
		if d.State.Live() {
			t.Fatalf("delivery %d is %s for ever", d.ID, d.State)
		}
	}
	r.sim.AssertRetriesIdentical(r.tb)
}

func TestWhateverHappensPeopleKnowTheirShiftsOrSomebodyIsShownThatTheyDoNot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tb := &scope{T: t}
		defer tb.end()
		r := newNoticeRun(rt, tb)
		for range 2 {
			r.add(rt)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"add": r.add, "edit": r.edit, "edit again": r.edit, "put": r.put, "relink": r.relink, "switch": r.switchOver, "leave": r.leaveOrReturn,
			"edit and send": r.editAndSend, "edit and send again": r.editAndSend, "retry": r.retry, "fail": r.fail, "work": r.work, "work and": r.work, "meddle": r.workMeddled, "wait": r.wait, "wait more": r.wait, "sweep": r.sweep,
			"recover": r.recovery, "resume": r.resume, "kill": r.kill, "": r.judge,
		})
		r.settle(rt)
	})
}
