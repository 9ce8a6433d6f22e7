package handlers

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
)

// Who signs in, in the tests.
const (
	testEmail    = "manager@mihon-juku.example"
	testPassword = "correct horse battery"
)

// testSecret signs LINE's webhooks in the tests.
const testSecret = "8c570fa6dd201bb328f1c1eac23a96d8"

// testHash is the hash of testPassword, made once.
var testHash = auth.HashPassword(testPassword)

// testSite is a site on a database of its own, served over real HTTP.
type testSite struct {
	*testing.T
	*browser // nobody is signed in until signIn
	site     *Site
	store    *db.Store
	clock    *clockwork.FakeClock
	admin    roster.Admin
	log      *logBuffer
}

// newSite serves a site with one admin, whose clock stands at dbtest.Start.
func newSite(t *testing.T) *testSite {
	t.Helper()
	store, clock := dbtest.Open(t, func(o *db.Options) { o.Compose = dbtest.PlainComposer{} })
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	a := auth.New(auth.Options{Store: store, Clock: clock, BaseURL: "http://127.0.0.1", Logger: logger})
	t.Cleanup(a.Close)
	admin, err := store.CreateAdmin(t.Context(), db.AdminEdit{Email: testEmail, Name: "見本 室長", PasswordHash: testHash})
	if err != nil {
		t.Fatal(err)
	}
	ts := &testSite{T: t, store: store, clock: clock, admin: admin, log: log}
	ts.site = New(Options{Store: store, Auth: a, Clock: clock, Location: dbtest.Tokyo, BaseURL: "http://127.0.0.1", Logger: logger, WebhookSecret: testSecret})
	server := httptest.NewServer(ts.site)
	t.Cleanup(server.Close)
	ts.browser = newBrowser(t, server.URL)
	return ts
}

// signIn signs the admin in by a link, which is quicker than hashing a password.
func (ts *testSite) signIn() *testSite {
	ts.Helper()
	ts.post(ts.site.auth.IssueSignInLink(ts.admin.ID), nil).wantStatus(http.StatusSeeOther)
	ts.get("/settings").wantStatus(http.StatusOK) // takes the greeting
	return ts
}

// another returns a second browser on the same site.
func (ts *testSite) another() *browser { return newBrowser(ts.T, ts.base) }

// school fills the database with a small school.
func (ts *testSite) school() school {
	ts.Helper()
	ctx := ts.Context()
	var sc school
	var err error
	check := func() {
		ts.Helper()
		if err != nil {
			ts.Fatal(err)
		}
	}
	sc.group, err = ts.store.CreateGroup(ctx, db.GroupEdit{Name: "駅前・本町グループ", LeadMinutes: 120})
	check()
	sc.classroom, err = ts.store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: sc.group.ID, Name: "駅前教室", ShortName: "駅前"})
	check()
	sc.teacher, err = ts.store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: sc.classroom.ID, Name: "髙橋 健太", NoticesOn: true})
	check()
	sc.pattern, err = ts.store.CreatePattern(ctx, db.PatternEdit{Name: "夕番", Letter: "夕", Times: roster.TimeRange{Start: 1020, End: 1290}})
	check()
	return sc
}

type school struct {
	group     roster.Group
	classroom roster.Classroom
	teacher   roster.Teacher
	pattern   roster.Pattern
}

// browser asks a site the way a browser does: it keeps cookies, and follows no redirect by itself.
type browser struct {
	t      *testing.T
	base   string
	client *http.Client
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: base, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// answer is a response that was read.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
}

// send sends a request with headers given as names and values.
func (b *browser) send(method, path string, body io.Reader, headers ...string) *answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{b.t, method + " " + path, res.StatusCode, res.Header, string(text)}
}

func (b *browser) get(path string, headers ...string) *answer {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil, headers...)
}

// post sends a form as a page of the site would.
func (b *browser) post(path string, form url.Values, headers ...string) *answer {
	b.t.Helper()
	headers = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, headers...)
	return b.send(http.MethodPost, path, strings.NewReader(form.Encode()), headers...)
}

// put sends a form that means PUT.
func (b *browser) put(path string, form url.Values, headers ...string) *answer {
	b.t.Helper()
	return b.post(path, with(form, "_method", "PUT"), headers...)
}

// del sends a form that means DELETE.
func (b *browser) del(path string, headers ...string) *answer {
	b.t.Helper()
	return b.post(path, fields("_method", "DELETE"), headers...)
}

// follow asks for the page that a redirect leads to.
func (b *browser) follow(a *answer) *answer {
	b.t.Helper()
	a.wantStatus(http.StatusSeeOther)
	return b.get(a.header.Get("Location"))
}

func (a *answer) wantStatus(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d\n%.2000s", a.what, a.status, status, a.body)
	}
	return a
}

// wantRedirect checks that the answer leads to a path.
func (a *answer) wantRedirect(path string) *answer {
	a.t.Helper()
	a.wantStatus(http.StatusSeeOther)
	if got := a.header.Get("Location"); got != path {
		a.t.Fatalf("%s: leads to %s, want %s", a.what, got, path)
	}
	return a
}

func (a *answer) contains(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Errorf("%s: %q is missing in\n%s", a.what, text, a.body)
		}
	}
	return a
}

func (a *answer) lacks(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Errorf("%s: %q must not be in\n%s", a.what, text, a.body)
		}
	}
	return a
}

// fields makes a form of names and values.
func fields(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// with returns a copy of a form with some fields set.
func with(form url.Values, pairs ...string) url.Values {
	all := fields(pairs...)
	for name, values := range form {
		if _, ok := all[name]; !ok {
			all[name] = values
		}
	}
	return all
}

// logBuffer keeps what is logged, for several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
