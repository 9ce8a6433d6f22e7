package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sys/unix"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/line/linesim"
)

// These tests kill the program itself, in a process of its own, at a known instant, and start it again. The simulated
// LINE runs in the test, which nobody kills, and what it accepted decides. The instant is reached from outside: by what
// LINE does, or by a trigger in the database file that stops the program at one statement for ever.

const (
	// programVariable makes this test binary the program.
	programVariable = "SHIFTPOST_TEST_PROGRAM"
	// userVariable makes that program give its rights up for those of a user id: root may write what is read-only.
	userVariable = "SHIFTPOST_TEST_USER"
	// pictureVariable makes it a program that stores a big picture in that folder.
	pictureVariable = "SHIFTPOST_TEST_PICTURE_FOLDER"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(programVariable) != "":
		if id, err := strconv.Atoi(os.Getenv(userVariable)); err == nil {
			if err := errors.Join(syscall.Setgid(id), syscall.Setuid(id)); err != nil {
				panic(err)
			}
		}
		os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	case os.Getenv(pictureVariable) != "":
		os.Exit(storePicture(os.Getenv(pictureVariable)))
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

const (
	victimEmail    = "manager@mihon-juku.example"
	victimPassword = "mihon-juku-kill"
)

// killStory is a school whose program is killed.
type killStory struct {
	dir    string
	front  *front
	sim    *linesim.Simulator
	env    []string
	client *http.Client
	month  roster.Month // the next one, so that nobody is reminded of its shifts
	groups []roster.Group
	sheets []string // hash of each group's month; its picture is drawn
	victim *program // nil while none runs
}

// newKillStory makes a school of two groups with one confirmed shift each in the next month.
func newKillStory(t *testing.T) *killStory {
	t.Helper()
	s := &killStory{dir: t.TempDir()}
	var err error
	if s.client, err = newClient(); err != nil {
		t.Fatal(err)
	}
	if s.sim, err = linesim.New(linesim.Options{}); err != nil {
		t.Fatal(err)
	}
	s.front = startFront(t, s.sim)
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SHIFTPOST_CHROME_PATH=" + os.Getenv("SHIFTPOST_CHROME_PATH"), programVariable + "=1",
		"SHIFTPOST_ADDR=127.0.0.1:0", "SHIFTPOST_BASE_URL=http://127.0.0.1:8080", "SHIFTPOST_DATA_DIR=" + s.dir,
		"LINE_API_BASE_URL=" + s.sim.BaseURL(), "LINE_LIFF_BASE_URL=" + s.sim.LIFFBaseURL(), "LINE_LIFF_SDK_URL=" + s.sim.SDKURL(),
		"LINE_CHANNEL_ACCESS_TOKEN=" + s.sim.Channel().AccessToken, "LINE_CHANNEL_SECRET=" + s.sim.Channel().Secret,
		"LINE_LOGIN_CHANNEL_ID=" + s.sim.Login().ChannelID, "LINE_LIFF_ID=" + s.sim.Login().LIFFID,
	}
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) { s.fill(t, store) })
	return s
}

func (s *killStory) fill(t *testing.T, store *db.Store) {
	ctx := t.Context()
	dbtest.Must(store.CreateAdmin(ctx, db.AdminEdit{Email: victimEmail, Name: "見本 室長", PasswordHash: auth.HashPassword(victimPassword)}))(t)
	s.month = roster.DateOf(store.Now(), store.Location()).MonthOf().Add(1)
	pictures := dbtest.Must(files.Open(filepath.Join(s.dir, "images")))(t)
	defer pictures.Close()
	for i := range 2 {
		user := s.sim.AddUser(linesim.User{ID: dbtest.LINEUserID(i + 1), Name: "講師", Friend: true})
		s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(i + 1), Name: "講師連絡", Members: []string{user.ID}, BotIn: true})
		g := dbtest.Must(store.CreateGroup(ctx, db.GroupEdit{Name: fmt.Sprintf("グループ%d", i+1), LeadMinutes: roster.DefaultLeadMinutes}))(t)
		room := dbtest.Must(store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: fmt.Sprintf("教室%d", i+1), ShortName: strconv.Itoa(i + 1)}))(t)
		teacher := dbtest.Must(store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: room.ID, Name: fmt.Sprintf("講師%d", i+1), NoticesOn: true}))(t)
		for _, err := range []error{
			store.LinkGroup(ctx, g.ID, dbtest.LINEGroupID(i+1), "講師連絡", 1),
			store.LinkTeacher(ctx, teacher.ID, user.ID),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		dbtest.Must(store.AddShift(ctx, db.ShiftEdit{TeacherID: teacher.ID, ClassroomID: room.ID, Date: s.month.First().AddDays(14), Times: roster.TimeRange{Start: 17 * 60, End: 21 * 60}}, roster.ShiftConfirmed))(t)
		hash := dbtest.Must(store.Preview(ctx, g.ID, s.month))(t).Sheet.Hash()
		key := dbtest.Must(pictures.Put([]byte("picture of " + hash)))(t)
		if err := store.SavePreview(ctx, hash, []roster.Image{{Page: 1, Title: room.Name, SHA256: key, Width: 2160, Height: 3000, SizeBytes: 1}}); err != nil {
			t.Fatal(err)
		}
		s.groups, s.sheets = append(s.groups, g), append(s.sheets, hash)
	}
}

// inStore opens the data folder while no program runs on it.
func (s *killStory) inStore(t *testing.T, clock clockwork.Clock, use func(*db.Store)) {
	t.Helper()
	store := dbtest.Must(db.Open(t.Context(), db.Options{Dir: s.dir, Clock: clock, Location: dbtest.Tokyo, Logger: quietLogger(), Compose: dbtest.PlainComposer{}}))(t)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	use(store)
}

// sql runs statements on the data folder while no program runs on it.
func (s *killStory) sql(t *testing.T, statements ...string) {
	t.Helper()
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) {
		for _, q := range statements {
			if _, err := store.SessionDB().ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
	})
}

// stopAt lets the program stop for ever, within its transaction, after a statement: "INSERT ON jobs", "UPDATE OF state
// ON jobs", where a condition on the row is true.
func (s *killStory) stopAt(t *testing.T, statement, when string) {
	t.Helper()
	s.sql(t, `CREATE VIEW forever AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n`,
		`CREATE TRIGGER stop AFTER `+statement+` WHEN `+when+` BEGIN SELECT c FROM forever; END`)
}

func (s *killStory) goOn(t *testing.T) {
	t.Helper()
	s.sql(t, `DROP TRIGGER stop`, `DROP VIEW forever`)
}

// program is one life of the program.
type program struct {
	cmd *exec.Cmd
	url string
	log *lines
}

// lines collects what a program says and lets others wait for a line.
type lines struct {
	mu   sync.Mutex
	all  bytes.Buffer
	news chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

var servingLine = regexp.MustCompile(`msg=serving address=(\S+)`)

// start runs the program and signs in.
func (s *killStory) start(t *testing.T) {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], "serve"), log: &lines{news: make(chan struct{}, 1)}}
	p.cmd.Env, p.cmd.Stderr = s.env, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.victim = p
	t.Cleanup(func() {
		if s.victim == p {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the program said:\n%s", p.log)
		}
	})
	for deadline := time.After(patience); p.url == ""; {
		select {
		case <-p.log.news:
			if m := servingLine.FindStringSubmatch(p.log.String()); m != nil {
				p.url = "http://" + m[1]
			}
		case <-deadline:
			t.Fatalf("the program does not serve:\n%s", p.log)
		}
	}
}

// signIn signs the story's browser in; the session outlives the program.
func (s *killStory) signIn(t *testing.T) {
	t.Helper()
	status, _, err := s.request(http.MethodPost, "/session", url.Values{"email": {victimEmail}, "password": {victimPassword}})
	if err != nil || status != http.StatusSeeOther {
		t.Fatalf("signing in was answered %d, %v", status, err)
	}
}

// request asks the site and returns the answer's status and body; the error is a lost connection.
func (s *killStory) request(method, path string, form url.Values) (int, string, error) {
	return s.requestAt(s.victim.url+path, method, form)
}

func (s *killStory) requestAt(address, method string, form url.Values) (int, string, error) {
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// later makes a request whose answer may never come.
func (s *killStory) later(method, path string, form url.Values) <-chan error {
	answered := make(chan error, 1)
	address := s.victim.url + path
	go func() {
		_, _, err := s.requestAt(address, method, form)
		answered <- err
	}()
	return answered
}

func (s *killStory) publications(group int) string {
	return fmt.Sprintf("/groups/%d/months/%s/publications", s.groups[group].ID, s.month)
}

func (s *killStory) publish(t *testing.T) {
	t.Helper()
	status, body, err := s.request(http.MethodPost, s.publications(0), url.Values{"sheet_hash": {s.sheets[0]}})
	if err != nil || status != http.StatusSeeOther {
		t.Fatalf("publishing was answered %d, %v: %.500s", status, err, body)
	}
}

// shows reports whether the page of the first delivery shows a text.
func (s *killStory) shows(what string) bool {
	_, body, err := s.request(http.MethodGet, "/deliveries/1", nil)
	return err == nil && strings.Contains(body, what)
}

// kill ends the program without a chance to do anything.
func (s *killStory) kill(t *testing.T) {
	t.Helper()
	p := s.victim
	s.victim = nil
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the program ended by itself: %v\n%s", err, p.log)
	}
	s.client.CloseIdleConnections()
}

// stop ends the program as an administrator does.
func (s *killStory) stop(t *testing.T) {
	t.Helper()
	p := s.victim
	s.victim = nil
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v\n%s", err, p.log)
	}
	s.client.CloseIdleConnections()
}

// awaitStopped waits until the program holds the database's write lock and does not let it go: it is at stopAt's
// statement. The lock of a WAL's writer is byte 120 of the -shm file (https://www.sqlite.org/walformat.html#locks,
// checked December 2026).
func (s *killStory) awaitStopped(t *testing.T) {
	t.Helper()
	shm, err := os.Open(filepath.Join(s.dir, db.FileName+"-shm"))
	if err != nil {
		t.Fatal(err)
	}
	defer shm.Close()
	since := time.Now()
	s.until(t, "the program stops", func() bool {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 120, Len: 1}
		if err := unix.FcntlFlock(shm.Fd(), unix.F_GETLK, &lock); err != nil {
			t.Fatal(err)
		}
		if lock.Type != unix.F_WRLCK || int(lock.Pid) != s.victim.cmd.Process.Pid {
			since = time.Now()
		}
		return time.Since(since) > time.Second
	})
}

// until waits until something outside this process holds.
func (s *killStory) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// answered waits until LINE has answered so many pushes.
func (s *killStory) answered(t *testing.T, n int) {
	t.Helper()
	s.until(t, fmt.Sprintf("LINE has answered %d pushes", n), func() bool {
		pushes := s.sim.Pushes()
		return len(pushes) >= n && !slices.ContainsFunc(pushes, func(r linesim.Request) bool { return !r.Done })
	})
}

// deliveries reads all deliveries, the oldest first, while no program runs.
func (s *killStory) deliveries(t *testing.T) []db.DeliveryDetail {
	t.Helper()
	var all []db.DeliveryDetail
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) {
		for _, d := range dbtest.Must(store.Deliveries(t.Context(), db.DeliveryFilter{}))(t) {
			all = append(all, dbtest.Must(store.Delivery(t.Context(), d.ID))(t))
		}
	})
	slices.Reverse(all)
	return all
}

// wantAttempts checks one delivery's state and the outcomes of its tries.
func wantAttempts(t *testing.T, d db.DeliveryDetail, state roster.DeliveryState, outcomes ...roster.Outcome) {
	t.Helper()
	var got []roster.Outcome
	for _, a := range slices.Backward(d.Attempts) {
		got = append(got, a.Outcome)
	}
	if d.State != state || !slices.Equal(got, outcomes) {
		t.Errorf("delivery %d is %s %s with tries %q, want %s with %q", d.ID, d.State, d.Code, got, state, outcomes)
	}
}

// wantEnd checks what must be so in the end, whenever the program was killed: as many messages as there should be, each
// accepted once; no lease, nothing half done, no file that nothing shows and is older than a day.
func (s *killStory) wantEnd(t *testing.T, messages int) {
	t.Helper()
	if got := len(s.sim.Accepted()); got != messages {
		t.Errorf("LINE accepted %d messages, want %d", got, messages)
	}
	s.sim.AssertAcceptedOnce(t)
	s.sim.AssertRetriesIdentical(t)
	s.sim.AssertKeyOnFirstTry(t)
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) {
		for what, query := range map[string]string{
			"jobs that are not done": `SELECT count(*) FROM jobs WHERE state <> 'done'`,
			"open attempts":          `SELECT count(*) FROM attempts WHERE outcome IS NULL`,
			"unsent deliveries":      `SELECT count(*) FROM deliveries WHERE state <> 'sent'`,
			"spent tries":            `SELECT count(*) FROM deliveries WHERE ladder_tries <> 1`,
		} {
			var n int
			if err := store.SessionDB().QueryRowContext(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n != 0 {
				t.Errorf("there are %d %s", n, what)
			}
		}
		keys := dbtest.Must(store.ImageKeys(t.Context()))(t)
		for _, f := range s.pictures(t) {
			if info := dbtest.Must(f.Info())(t); !keys[f.Name()] && time.Since(info.ModTime()) > db.PreviewsKept {
				t.Errorf("the file %s is left over", f.Name())
			}
		}
	})
}

func (s *killStory) pictures(t *testing.T) []fs.DirEntry {
	t.Helper()
	return dbtest.Must(os.ReadDir(filepath.Join(s.dir, "images")))(t)
}

func TestKilledBeforeTheCommitOfAPublishNothingHappened(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.stopAt(t, "UPDATE OF state ON deliveries", "NEW.state = 'queued'")
	s.start(t)
	s.signIn(t)
	answered := s.later(http.MethodPost, s.publications(0), url.Values{"sheet_hash": {s.sheets[0]}})
	s.awaitStopped(t)
	s.kill(t)
	if err := <-answered; err == nil {
		t.Error("the publish was answered before its commit")
	}
	if d := s.deliveries(t); len(d) != 0 {
		t.Errorf("%d deliveries are left of a publish without a commit", len(d))
	}

	s.goOn(t)
	s.start(t)
	s.publish(t)
	s.answered(t, 1)
	s.stop(t)
	d := s.deliveries(t)
	wantAttempts(t, d[0], roster.Sent, roster.Accepted)
	if d[0].Publication.Number != 1 {
		t.Errorf("the publication has number %d, want 1", d[0].Publication.Number)
	}
	s.wantEnd(t, 1)
}

func TestKilledAfterTheCommitOfAPublishItIsSent(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.stopAt(t, "UPDATE OF state ON jobs", "NEW.state = 'leased'")
	s.start(t)
	s.signIn(t)
	answered := s.later(http.MethodPost, s.publications(0), url.Values{"sheet_hash": {s.sheets[0]}})
	s.awaitStopped(t)
	s.kill(t)
	<-answered // or not: the runner's claim may have been first
	wantAttempts(t, s.deliveries(t)[0], roster.Queued)

	s.goOn(t)
	s.start(t)
	s.answered(t, 1)
	s.stop(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Accepted)
	s.wantEnd(t, 1)
}

func TestKilledBeforeLINEGotTheRequestItIsSentWithTheSameKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hold  holding
		await func(*testing.T, *killStory)
	}{
		{"after the claim", holdConnections, func(t *testing.T, s *killStory) {
			s.until(t, "the page says that it is being sent", func() bool { return s.shows("送信中") })
		}},
		{"while the request is on its way", holdPushes, func(_ *testing.T, s *killStory) { <-s.front.held }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newKillStory(t)
			s.start(t)
			s.signIn(t)
			s.front.holdBack(c.hold)
			s.publish(t)
			c.await(t, s)
			s.kill(t)
			s.front.holdBack(holdNothing)
			if n := len(s.sim.Pushes()); n != 0 {
				t.Fatalf("LINE got %d requests", n)
			}
			d := s.deliveries(t)[0]
			wantAttempts(t, d, roster.Processing, "")

			s.start(t)
			s.answered(t, 1)
			s.stop(t)
			wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Interrupted, roster.Accepted)
			if got := s.sim.Pushes()[0].RetryKey; got != d.RetryKey {
				t.Errorf("the second try had the key %s, want %s", got, d.RetryKey)
			}
			s.wantEnd(t, 1)
		})
	}
}

func TestKilledBeforeTheAnswerIsReadTheMessageIsNotPostedTwice(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	if _, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultHang, Endpoint: "push", Accept: true, Count: 1}); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	s.signIn(t)
	s.publish(t)
	s.until(t, "LINE accepted the message", func() bool { return len(s.sim.Accepted()) == 1 })
	s.kill(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Processing, "")

	s.start(t)
	s.answered(t, 2)
	s.stop(t)
	d := s.deliveries(t)[0]
	wantAttempts(t, d, roster.Sent, roster.Interrupted, roster.Accepted)
	if last := d.Attempts[0]; last.Status != http.StatusConflict || last.AcceptedRequestID != s.sim.Accepted()[0].RequestID {
		t.Errorf("the second try was answered %d with accepted id %q", last.Status, last.AcceptedRequestID)
	}
	s.wantEnd(t, 1)
}

func TestKilledBetweenTheAnswerAndTheCommitTheMessageIsNotPostedTwice(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.stopAt(t, "UPDATE OF finished_at ON attempts", "NEW.outcome = 'accepted'")
	s.start(t)
	s.signIn(t)
	s.publish(t)
	s.answered(t, 1)
	s.awaitStopped(t)
	s.kill(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Processing, "")

	s.goOn(t)
	s.start(t)
	s.answered(t, 2)
	s.stop(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Interrupted, roster.Accepted)
	s.wantEnd(t, 1)
}

func TestKilledAfterTheCommitOfTheAnswerNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.start(t)
	s.signIn(t)
	s.publish(t)
	s.until(t, "the page says that it was sent", func() bool { return s.shows("送信済") })
	s.kill(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Accepted)

	s.start(t)
	if !s.shows("送信済") {
		t.Error("the page no longer says that it was sent")
	}
	s.stop(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Accepted)
	if n := len(s.sim.Pushes()); n != 1 {
		t.Errorf("LINE got %d requests, want 1", n)
	}
	s.wantEnd(t, 1)
}

func TestKilledInsideTheRecoverySweepEverythingIsQueuedByTheNextOne(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) {
		for i, g := range s.groups {
			dbtest.Must(store.Publish(t.Context(), db.PublishInput{GroupID: g.ID, Month: s.month, SheetHash: s.sheets[i]}))(t)
		}
	})
	s.sql(t, `DELETE FROM jobs`)
	s.stopAt(t, "INSERT ON jobs", "NEW.subject_id = 2")
	s.start(t)
	s.awaitStopped(t)
	s.kill(t)
	wantAttempts(t, s.deliveries(t)[1], roster.Queued)

	s.goOn(t)
	s.start(t)
	s.until(t, "LINE accepted both messages", func() bool { return len(s.sim.Accepted()) == 2 })
	s.stop(t)
	for _, d := range s.deliveries(t) {
		if d.State != roster.Sent {
			t.Errorf("delivery %d is %s %s", d.ID, d.State, d.Code)
		}
	}
	s.wantEnd(t, 2)
}

func TestKilledInsideTheReminderSweepEverybodyIsRemindedOnceByTheNextOne(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	now := time.Now()
	start := now.Add(90 * time.Minute).In(dbtest.Tokyo)
	minutes := roster.Minutes(start.Hour()*60 + start.Minute())
	// Entered long before, so that no edit has made the reminders.
	s.inStore(t, clockwork.NewFakeClockAt(now.Add(-24*time.Hour)), func(store *db.Store) {
		for _, v := range dbtest.Must(store.Teachers(t.Context()))(t) {
			dbtest.Must(store.AddShift(t.Context(), db.ShiftEdit{TeacherID: v.ID, ClassroomID: v.ClassroomID, Date: roster.DateOf(start, dbtest.Tokyo), Times: roster.TimeRange{Start: minutes, End: minutes + 60}}, roster.ShiftConfirmed))(t)
		}
	})
	if d := s.deliveries(t); len(d) != 0 {
		t.Fatalf("%d reminders were made too early", len(d))
	}
	s.stopAt(t, "INSERT ON deliveries", "NEW.teacher_id = 2")
	s.start(t)
	s.awaitStopped(t)
	s.kill(t)
	if n := len(s.sim.Pushes()); n != 0 {
		t.Errorf("LINE got %d requests of reminders without a commit", n)
	}

	s.goOn(t)
	s.start(t)
	s.until(t, "LINE accepted both messages", func() bool { return len(s.sim.Accepted()) == 2 })
	s.stop(t)
	for _, d := range s.deliveries(t) {
		wantAttempts(t, d, roster.Sent, roster.Accepted)
	}
	s.wantEnd(t, 2)
}

func TestKilledWhileChromeDrawsThePictureIsDrawnByTheNextOne(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.sql(t, `DELETE FROM preview_pages`)
	for _, f := range s.pictures(t) {
		if err := os.Remove(filepath.Join(s.dir, "images", f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t)
	s.signIn(t)
	answered := s.later(http.MethodGet, s.publications(0)+"/new?wait=1", nil)
	var chrome []int
	s.until(t, "Chrome draws", func() bool {
		chrome = chrome[:0]
		drawing := false
		for pid, command := range descendants(t, s.victim.cmd.Process.Pid) {
			chrome = append(chrome, pid)
			drawing = drawing || strings.Contains(command, "--type=renderer")
		}
		return drawing
	})
	s.kill(t)
	if err := <-answered; err == nil {
		t.Error("the page was answered before the kill")
	}
	if left := s.pictures(t); len(left) != 0 {
		t.Errorf("the program was killed too late: it had stored %d pictures", len(left))
	}

	s.start(t)
	if left, err := filepath.Glob(filepath.Join(s.dir, "chrome", "chrome-*")); len(left) != 0 || err != nil {
		t.Errorf("left by the killed program: %q, %v", left, err)
	}
	s.until(t, "the killed program's Chrome is gone", func() bool {
		return !slices.ContainsFunc(chrome, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
	status, body, err := s.request(http.MethodGet, s.publications(0)+"/new?wait=1", nil)
	if err != nil || status != http.StatusOK || !strings.Contains(body, "/previews/"+s.sheets[0]+"/pages/1") {
		t.Fatalf("the page was answered %d, %v, without a picture", status, err)
	}
	s.publish(t)
	s.answered(t, 1)
	if status, body, err := s.request(http.MethodGet, "/publications/1/pages/1", nil); err != nil || status != http.StatusOK || !strings.HasPrefix(body, "\x89PNG") {
		t.Errorf("the picture was answered %d, %v", status, err)
	}
	s.stop(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Accepted)
	s.wantEnd(t, 1)
}

// pictureSize is big enough to be killed while it is being written.
const pictureSize = 128 << 20

func bigPicture() []byte {
	b := make([]byte, pictureSize)
	for i := 0; i < len(b); i += 4096 {
		binary.LittleEndian.PutUint64(b[i:], uint64(i))
	}
	return b
}

// storePicture is the program that stores a big picture.
func storePicture(folder string) int {
	store, err := files.Open(folder)
	if err == nil {
		_, err = store.Put(bigPicture())
	}
	fmt.Fprintln(os.Stderr, "the picture was stored:", err)
	return 1
}

func TestKilledWhileAPictureIsWrittenOnlyAnUnfinishedFileIsLeftForADay(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	folder := filepath.Join(s.dir, "images")
	before := len(s.pictures(t))
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), pictureVariable+"="+folder)
	writer.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	var unfinished string
	s.until(t, "a part of the picture is written", func() bool {
		for _, f := range s.pictures(t) {
			if strings.Contains(f.Name(), ".tmp-") {
				info, err := f.Info()
				unfinished = filepath.Join(folder, f.Name())
				return err == nil && info.Size() > 0
			}
		}
		return false
	})
	if err := writer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Wait() // "signal: killed"
	info, err := os.Stat(unfinished)
	if err != nil || len(s.pictures(t)) != before+1 {
		t.Fatalf("the writer was killed too late: %v", err)
	}
	if info.Size() == pictureSize {
		t.Log("the picture was written whole, but not yet made a picture")
	}
	pictures := dbtest.Must(files.Open(folder))(t)
	defer pictures.Close()
	if _, err := pictures.Get(files.Key(bigPicture())); !errors.Is(err, files.ErrNotFound) {
		t.Errorf("an unfinished picture is handed out: %v", err)
	}

	// Another one that might still be in work.
	young := unfinished + "2"
	if err := os.WriteFile(young, []byte("a part"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, age := range map[string]time.Duration{unfinished: db.PreviewsKept + time.Hour, young: db.PreviewsKept - time.Hour} {
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t)
	s.until(t, "the unfinished file is gone", func() bool {
		_, err := os.Stat(unfinished)
		return errors.Is(err, fs.ErrNotExist)
	})
	s.stop(t)
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the younger one is gone: %v", err)
	}
	s.wantEnd(t, 0)
}

func TestAStartOnADatabaseThatCannotBeWrittenSaysSoAndLosesNothing(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) {
		dbtest.Must(store.Publish(t.Context(), db.PublishInput{GroupID: s.groups[0].ID, Month: s.month, SheetHash: s.sheets[0]}))(t)
	})
	path := filepath.Join(s.dir, db.FileName)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	env := s.env
	if os.Getuid() == 0 {
		const nobody = 65534
		env = append(slices.Clone(env), fmt.Sprintf("%s=%d", userVariable, nobody))
		for _, err := range []error{os.Chmod(filepath.Dir(s.dir), 0o711), os.Chown(s.dir, nobody, nobody), os.Chown(path, nobody, nobody)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	start := exec.Command(os.Args[0], "serve")
	start.Env = env
	said, err := start.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(said), "open database: open "+path+": permission denied") {
		t.Errorf("the start ended with %v and said:\n%s", err, said)
	}

	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	s.answered(t, 1)
	s.stop(t)
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Accepted)
	s.wantEnd(t, 1)
}

// descendants lists the processes below one, with their command lines.
func descendants(t *testing.T, root int) map[int]string {
	t.Helper()
	parents := map[int]int{}
	for _, stat := range dbtest.Must(filepath.Glob("/proc/[0-9]*/stat"))(t) {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended meanwhile
		}
		var state string
		var pid, parent int
		fields := string(b[bytes.LastIndexByte(b, ')')+1:]) // the name before it may hold anything
		if _, err := fmt.Sscan(fields, &state, &parent); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(string(b), &pid); err != nil {
			t.Fatal(err)
		}
		parents[pid] = parent
	}
	found := map[int]string{}
	for pid := range parents {
		for at := parents[pid]; at > 1; at = parents[at] {
			if at != root {
				continue
			}
			command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil {
				found[pid] = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
			}
			break
		}
	}
	return found
}

// holding is what a front holds back.
type holding int

const (
	holdNothing     holding = iota
	holdConnections         // nothing that comes over a new connection is read
	holdPushes              // they are read, and handed to nobody
)

// front stands before LINE and hands everything on, or holds it back until the client is gone.
type front struct {
	net.Listener
	held chan struct{} // gets a value when a push is held

	mu       sync.Mutex
	what     holding
	released chan struct{} // closed when that ends
}

// startFront serves a simulator behind a front until the test ends. No connection is used twice.
func startFront(t *testing.T, sim *linesim.Simulator) *front {
	t.Helper()
	f := &front{Listener: dbtest.Must(net.Listen("tcp", "127.0.0.1:0"))(t), held: make(chan struct{}, 1), released: make(chan struct{})}
	sim.SetBaseURL("http://" + f.Addr().String())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what, _ := f.holding()
		if what != holdPushes || r.URL.Path != "/v2/bot/message/push" {
			sim.ServeHTTP(w, r)
			return
		}
		io.Copy(io.Discard, r.Body)
		f.held <- struct{}{}
		<-r.Context().Done()
	})}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(f) }()
	t.Cleanup(func() {
		f.holdBack(holdNothing)
		sim.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return f
}

func (f *front) holding() (what holding, released <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.what, f.released
}

// holdBack changes what is held. What was held until now gets no answer.
func (f *front) holdBack(what holding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.what = what
	close(f.released)
	f.released = make(chan struct{})
}

// Accept takes the next connection that is not held back.
func (f *front) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		what, released := f.holding()
		if what != holdConnections {
			return c, nil
		}
		<-released
		c.Close() // what it holds was never read
	}
}
