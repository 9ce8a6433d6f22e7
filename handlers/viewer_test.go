package handlers_test

import (
	"bytes"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/handlers"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// Who looks in these tests. The first two are linked to the first two teachers of the school.
var (
	hanako   = dbtest.LINEUserID(1)
	ichiro   = dbtest.LINEUserID(2)
	stranger = dbtest.LINEUserID(9)
)

// viewerSite is the site over real HTTP with a simulated LINE, and a school that has published January 2027.
type viewerSite struct {
	*dbtest.School
	sim     *linesim.Simulator
	auth    *auth.Auth
	files   *files.Store
	url     string
	picture []byte
	first   roster.Publication
}

func newViewerSite(t *testing.T) *viewerSite {
	t.Helper()
	v := &viewerSite{School: dbtest.NewSchool(t)}
	v.sim = linesim.Start(t, linesim.Options{Clock: v.Clock})
	for i, name := range []string{"佐藤 花子", "鈴木 一郎"} {
		v.sim.AddUser(linesim.User{ID: dbtest.LINEUserID(i + 1), Name: name, Friend: true})
	}
	v.sim.AddUser(linesim.User{ID: stranger, Name: "通りすがり", Friend: true})

	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	v.auth = auth.New(auth.Options{Store: v.Store, Clock: v.Clock, Logger: log})
	t.Cleanup(v.auth.Close)
	v.files = dbtest.Must(files.Open(filepath.Join(v.Store.Dir(), "pictures")))(t)
	t.Cleanup(func() { _ = v.files.Close() })
	client := line.NewClient(line.Options{BaseURL: v.sim.BaseURL(), Token: v.sim.Channel().AccessToken, Clock: v.Clock, Timeout: 10 * time.Second})
	v.url = v.serve(t, client, "")

	v.Confirm(t, 0, 8, "17:00-21:30")
	v.Confirm(t, 0, 12, "17:00-21:30")
	v.Confirm(t, 0, 5, "9:00-17:00")
	v.Confirm(t, 1, 8, "22:00-25:00")
	v.Confirm(t, 2, 9, "13:00-18:00")
	v.picture = drawPicture(t)
	v.first = v.publish(t)
	return v
}

// serve starts the site with a client for LINE and returns its address.
func (v *viewerSite) serve(t *testing.T, client auth.Verifier, baseURL string) string {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	site := handlers.New(handlers.Options{
		Store: v.Store, Auth: v.auth, Files: v.files, Clock: v.Clock, Location: dbtest.Tokyo, BaseURL: baseURL, Logger: log,
		Viewer: handlers.ViewerOptions{
			Sessions: auth.NewTeachers(auth.TeachersOptions{
				Store: v.Store, Verifier: client, LoginChannelID: v.sim.Login().ChannelID, Clock: v.Clock, BaseURL: baseURL, Logger: log,
			}),
			LIFFID: v.sim.Login().LIFFID, LIFFBaseURL: v.sim.LIFFBaseURL(), SDKURL: v.sim.SDKURL(), APIBaseURL: v.sim.BaseURL(),
		},
	})
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	v.sim.SetEndpointURL(server.URL + "/liff")
	return server.URL
}

// drawPicture makes a small PNG that stands for a rendered page.
func drawPicture(t *testing.T) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 216, 300))
	for y := range 300 {
		for x := range 216 {
			m.Set(x, y, color.RGBA{uint8(200 + x/8), 230, 245, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// publish publishes the school's month as it is now, with one page that is kept in the file store.
func (v *viewerSite) publish(t *testing.T) roster.Publication {
	t.Helper()
	ctx := t.Context()
	preview := dbtest.Must(v.Store.Preview(ctx, v.Group.ID, v.Month))(t)
	key := dbtest.Must(v.files.Put(v.picture))(t)
	hash := preview.Sheet.Hash()
	if err := v.Store.SavePreview(ctx, hash, []roster.Image{{Page: 1, Title: "駅前教室", SHA256: key, Width: 216, Height: 300, SizeBytes: int64(len(v.picture))}}); err != nil {
		t.Fatal(err)
	}
	p := dbtest.Must(v.Store.Publish(ctx, db.PublishInput{GroupID: v.Group.ID, Month: v.Month, SheetHash: hash, AdminID: v.Admin.ID}))(t)
	return dbtest.Must(v.Store.Publication(ctx, p.PublicationID))(t)
}

// visitor is one browser without a screen.
type visitor struct {
	site   *viewerSite
	client *http.Client
	url    string
}

func (v *viewerSite) visitor(t *testing.T) *visitor {
	t.Helper()
	jar := dbtest.Must(cookiejar.New(nil))(t)
	return &visitor{v, &http.Client{Jar: jar, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, v.url}
}

// answer is what came back.
type answer struct {
	*http.Response
	body string
}

func (b *visitor) do(t *testing.T, r *http.Request) answer {
	t.Helper()
	res, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := dbtest.Must(io.ReadAll(res.Body))(t)
	return answer{res, string(body)}
}

func (b *visitor) get(t *testing.T, path string, header ...string) answer {
	t.Helper()
	r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil))(t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.do(t, r)
}

func (b *visitor) post(t *testing.T, path string, form url.Values, header ...string) answer {
	t.Helper()
	r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, strings.NewReader(form.Encode())))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return b.do(t, r)
}

// signIn does what the page's script does with an ID token.
func (b *visitor) signIn(t *testing.T, token string) answer {
	t.Helper()
	return b.post(t, "/viewer/session", url.Values{"id_token": {token}})
}

// as signs a LINE user in, who must be a teacher.
func (b *visitor) as(t *testing.T, lineUserID string) *visitor {
	t.Helper()
	if a := b.signIn(t, b.site.sim.IDToken(lineUserID, nil)); a.StatusCode != http.StatusNoContent {
		t.Fatalf("signing in answered %d: %s", a.StatusCode, a.body)
	}
	return b
}

func (v *viewerSite) document() string { return "/viewer/documents/" + v.first.DocumentID }
func (v *viewerSite) image() string    { return v.document() + "/pages/1" }

// verifications counts how often LINE was asked about an ID token.
func (v *viewerSite) verifications() int {
	n := 0
	for _, r := range v.sim.Requests() {
		if r.Endpoint == "verify" {
			n++
		}
	}
	return n
}

func (v *viewerSite) fault(t *testing.T, f linesim.Fault) {
	t.Helper()
	dbtest.Must(v.sim.AddFault(f))(t)
}

func TestTheShellIsOneStaticPageThatKnowsNobody(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	var bodies []string
	for _, path := range []string{"/liff", "/liff/", "/liff?liff.state=%2Fdocuments%2F" + v.first.DocumentID, "/liff/documents/" + v.first.DocumentID, "/liff/documents/unknown/", "/liff/a/b/c?liff.referrer=x"} {
		a := v.visitor(t).get(t, path)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, a.StatusCode)
		}
		for _, secret := range []string{"佐藤", "花子", v.Group.Name, "駅前", v.first.DocumentID, "2027"} {
			if strings.Contains(a.body, secret) {
				t.Errorf("%s: the shell holds %q before anybody signed in", path, secret)
			}
		}
		if !strings.Contains(a.body, v.sim.SDKURL()) || !strings.Contains(a.body, `data-liff-id="`+v.sim.Login().LIFFID+`"`) {
			t.Errorf("%s: the shell loads no LIFF SDK", path)
		}
		if len(a.Cookies()) != 0 {
			t.Errorf("%s: the shell sets a cookie", path)
		}
		bodies = append(bodies, a.body)
	}
	if len(slices.Compact(bodies)) != 1 {
		t.Error("the shell is not the same on every path")
	}
}

func TestOnlyTheShellLetsLINEsScriptRun(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	shell := v.visitor(t).get(t, "/liff").Header.Get("Content-Security-Policy")
	for _, want := range []string{"script-src 'self' " + v.sim.BaseURL(), "https://static.line-scdn.net", "https://api.line.me", "https://access.line.me", "frame-ancestors 'none'"} {
		if !strings.Contains(shell, want) {
			t.Errorf("the shell's policy lacks %s: %s", want, shell)
		}
	}
	if strings.Contains(shell, "unsafe") || strings.Contains(shell, " * ") {
		t.Errorf("the shell's policy is too wide: %s", shell)
	}
	b := v.visitor(t).as(t, hanako)
	for _, path := range []string{"/session/new", v.document(), v.image()} {
		if policy := b.get(t, path).Header.Get("Content-Security-Policy"); strings.Contains(policy, "line") || strings.Contains(policy, v.sim.BaseURL()) {
			t.Errorf("%s: the policy lets LINE's script run: %s", path, policy)
		}
	}
}

func TestAnIDTokenGetsInWhoIsALinkedTeacher(t *testing.T) {
	t.Parallel()
	expired := func(c *linesim.Claims) { c.Expires = dbtest.Start.Add(-time.Hour).Unix() }
	for _, c := range []struct {
		name   string
		token  func(*viewerSite) string
		fault  *linesim.Fault
		status int
		reason string
		words  string
	}{
		{"a linked teacher", func(v *viewerSite) string { return v.sim.IDToken(hanako, nil) }, nil, http.StatusNoContent, "", ""},
		{"somebody LINE knows and the school does not", func(v *viewerSite) string { return v.sim.IDToken(stranger, nil) }, nil,
			http.StatusForbidden, "stranger", "この表は、教室の講師だけが見られます。教室長に招待を頼んでください。"},
		{"an expired token", func(v *viewerSite) string { return v.sim.IDToken(hanako, expired) }, nil, http.StatusUnauthorized, "expired", "期限が切れました"},
		{"a token for another channel", func(v *viewerSite) string {
			return v.sim.IDToken(hanako, func(c *linesim.Claims) { c.Audience = "1234567890" })
		}, nil, http.StatusUnauthorized, "invalid", "確かめられませんでした"},
		{"a forged token", func(v *viewerSite) string { return v.sim.IDToken(hanako, nil) + "x" }, nil, http.StatusUnauthorized, "invalid", "確かめられませんでした"},
		{"no token", func(*viewerSite) string { return "" }, nil, http.StatusUnauthorized, "invalid", "確かめられませんでした"},
		{"LINE answers 500", func(v *viewerSite) string { return v.sim.IDToken(hanako, nil) }, &linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "verify", Status: 500},
			http.StatusServiceUnavailable, "line", "LINEに確かめられませんでした。少し待って、もう一度お試しください。"},
		{"LINE answers 429", func(v *viewerSite) string { return v.sim.IDToken(hanako, nil) }, &linesim.Fault{Kind: linesim.FaultRate, Endpoint: "verify"},
			http.StatusServiceUnavailable, "line", "LINEに確かめられませんでした。少し待って、もう一度お試しください。"},
		{"LINE is not there", func(v *viewerSite) string { return v.sim.IDToken(hanako, nil) }, &linesim.Fault{Kind: linesim.FaultDown},
			http.StatusServiceUnavailable, "line", "もう一度"},
		{"LINE answers HTML", func(v *viewerSite) string { return v.sim.IDToken(hanako, nil) }, &linesim.Fault{Kind: linesim.FaultHTML, Endpoint: "verify"},
			http.StatusServiceUnavailable, "line", "もう一度"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := newViewerSite(t)
			if c.fault != nil {
				v.fault(t, *c.fault)
			}
			b := v.visitor(t)
			a := b.signIn(t, c.token(v))
			if a.StatusCode != c.status || a.Header.Get("Viewer-Reason") != c.reason {
				t.Errorf("answered %d %q, want %d %q", a.StatusCode, a.Header.Get("Viewer-Reason"), c.status, c.reason)
			}
			if !strings.Contains(a.body, c.words) {
				t.Errorf("the answer lacks %q: %s", c.words, a.body)
			}
			want := http.StatusUnauthorized
			if c.status == http.StatusNoContent {
				want = http.StatusOK
			}
			if got := b.get(t, v.image()).StatusCode; got != want {
				t.Errorf("the picture answers %d afterwards, want %d", got, want)
			}
		})
	}
}

func TestATeacherIsNotToldThatTheyAreInWhenTheSessionCannotBeSaved(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	if _, err := v.Store.SessionDB().Exec(`CREATE TRIGGER refuse BEFORE INSERT ON sessions BEGIN SELECT RAISE(FAIL, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	if a := v.visitor(t).signIn(t, v.sim.IDToken(hanako, nil)); a.StatusCode != http.StatusInternalServerError {
		t.Errorf("signing in answered %d", a.StatusCode)
	}
}

func TestWhatIsNoTokenIsNoQuestionToLINE(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t)
	for _, token := range []string{"", "x", "a.b", "a.b.c.d", "a b.c.d", strings.Repeat("a", 9000) + ".b.c"} {
		if a := b.signIn(t, token); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("token %.20q answered %d", token, a.StatusCode)
		}
	}
	if n := v.verifications(); n != 0 {
		t.Errorf("LINE was asked %d times", n)
	}
}

func TestNothingOfADocumentIsShownWithoutASession(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	for _, path := range []string{v.document(), v.image(), v.image() + "?download", "/viewer/documents/unknown", "/viewer/documents/unknown/pages/1"} {
		a := v.visitor(t).get(t, path)
		if a.StatusCode != http.StatusUnauthorized || a.Header.Get("Viewer-Reason") != "session" {
			t.Errorf("%s answered %d %q, want 401 session", path, a.StatusCode, a.Header.Get("Viewer-Reason"))
		}
		if strings.Contains(a.body, "\x89PNG") || strings.Contains(a.body, "佐藤") || strings.Contains(a.body, v.Group.Name) {
			t.Errorf("%s showed something", path)
		}
	}
	b := v.visitor(t)
	b.client.Jar.SetCookies(dbtest.Must(url.Parse(v.url))(t), []*http.Cookie{{Name: "shiftpost_viewer", Value: "made-up"}})
	if a := b.get(t, v.image()); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a made-up cookie the picture answered %d", a.StatusCode)
	}
}

func TestATeacherSeesTheDocument(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	a := b.get(t, v.document())
	if a.StatusCode != http.StatusOK || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("answered %d, kept %q", a.StatusCode, a.Header.Get("Cache-Control"))
	}
	for _, want := range []string{"2027年1月 シフト表", "第1版", "次の出勤", "今日 1月8日(金)", "17:00–21:30", "わたしの1月", "これから 2件", "終わった分 1件",
		"全体の表", "<caption", `scope="col"`, `scope="row"`, "鈴木", "髙橋", "成人の日", "保存", v.image()} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	for _, not := range []string{"<html", "新しい第", "公開後に"} {
		if strings.Contains(a.body, not) {
			t.Errorf("the document has %q", not)
		}
	}
	image := b.get(t, v.image())
	if image.StatusCode != http.StatusOK || image.body != string(v.picture) {
		t.Errorf("the picture answered %d with %d bytes", image.StatusCode, len(image.body))
	}
	if image.Header.Get("Content-Type") != "image/png" || !strings.Contains(image.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("the picture is %q, kept %q", image.Header.Get("Content-Type"), image.Header.Get("Cache-Control"))
	}
	if d := b.get(t, v.image()+"?download").Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") || !strings.Contains(d, "png") {
		t.Errorf("to keep, the picture is %q", d)
	}
	whole := b.get(t, v.document(), "Sec-Fetch-Dest", "document")
	if !strings.Contains(whole.body, "<html") || !strings.Contains(whole.body, "次の出勤") {
		t.Error("a browser that opens the address gets no whole page")
	}
}

func TestADocumentSpeaksTheLanguageOfItsReader(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	a := v.visitor(t).as(t, hanako).get(t, v.document(), "Accept-Language", "en")
	for _, want := range []string{"Your next shift", "Today, Fri 8 Jan", "My January", "Version 1", "Coming of Age Day", "日本語"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
}

func TestAnAdminSeesTheDocumentWithoutShiftsOfTheirOwn(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t)
	if a := b.post(t, v.auth.IssueSignInLink(v.Admin.ID), nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in answered %d", a.StatusCode)
	}
	a := b.get(t, v.document(), "Sec-Fetch-Dest", "document")
	if a.StatusCode != http.StatusOK || !strings.Contains(a.body, "全体の表") || strings.Contains(a.body, "次の出勤") {
		t.Errorf("the document answered %d: %.300s", a.StatusCode, a.body)
	}
	if a := b.get(t, v.image()); a.StatusCode != http.StatusOK {
		t.Errorf("the picture answered %d", a.StatusCode)
	}
}

func TestAnUnknownDocumentIsSaidPlainly(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	for _, path := range []string{"/viewer/documents/unknown", "/viewer/documents/unknown/pages/1", v.document() + "/pages/2", v.document() + "/pages/0", v.document() + "/pages/x", v.document() + "/pages/-1"} {
		a := b.get(t, path)
		if a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, "この表は見つかりません") {
			t.Errorf("%s answered %d: %.200s", path, a.StatusCode, a.body)
		}
	}
}

func TestADamagedPictureIsNotHandedOut(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	if n := dbtest.Must(v.files.Prune(time.Now().Add(time.Hour), func(string) bool { return false }))(t); n != 1 {
		t.Fatalf("removed %d files", n)
	}
	if a := b.get(t, v.image()); a.StatusCode != http.StatusInternalServerError || !strings.Contains(a.body, "表示できませんでした") {
		t.Errorf("answered %d: %.200s", a.StatusCode, a.body)
	}
}

func TestWhoIsNoTeacherAnyMoreIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*testing.T, *viewerSite) error
	}{
		{"left", func(t *testing.T, v *viewerSite) error {
			for _, x := range dbtest.Must(v.Store.Month(t.Context(), v.Group.ID, v.Month))(t).Shifts {
				if x.TeacherID == v.Teachers[0].ID {
					dbtest.Must(v.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(t)
				}
			}
			return v.Store.ArchiveTeacher(t.Context(), v.Teachers[0].ID)
		}},
		{"was unlinked", func(t *testing.T, v *viewerSite) error {
			return v.Store.UnlinkTeacher(t.Context(), v.Teachers[0].ID)
		}},
		{"is linked to another LINE user now", func(t *testing.T, v *viewerSite) error {
			return v.Store.LinkTeacher(t.Context(), v.Teachers[0].ID, dbtest.LINEUserID(7))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := newViewerSite(t)
			b := v.visitor(t)
			token := v.sim.IDToken(hanako, nil)
			if a := b.signIn(t, token); a.StatusCode != http.StatusNoContent {
				t.Fatalf("signing in answered %d", a.StatusCode)
			}
			if err := c.end(t, v); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{v.document(), v.image()} {
				if a := b.get(t, path); a.StatusCode != http.StatusForbidden || a.Header.Get("Viewer-Reason") != "stranger" {
					t.Errorf("%s answered %d %q", path, a.StatusCode, a.Header.Get("Viewer-Reason"))
				}
			}
			if a := b.signIn(t, token); a.StatusCode != http.StatusForbidden {
				t.Errorf("signing in again answered %d", a.StatusCode)
			}
		})
	}
}

func TestAStrangerDoesNotInheritTheSessionOfWhoLookedBefore(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	if a := b.signIn(t, v.sim.IDToken(stranger, nil)); a.StatusCode != http.StatusForbidden {
		t.Fatalf("signing in answered %d", a.StatusCode)
	}
	if a := b.get(t, v.image()); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("the picture answered %d", a.StatusCode)
	}
}

func TestTheNextTeacherInABrowserSeesTheirOwnShifts(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako).as(t, ichiro)
	if a := b.get(t, v.document()); !strings.Contains(a.body, "鈴木 一郎さん") || !strings.Contains(a.body, `next-times next-night">22:00–翌1:00`) {
		t.Errorf("the document is not the second teacher's: %.500s", a.body)
	}
}

func TestATeachersSessionEndsAfterTwelveHours(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	v.Clock.Advance(12*time.Hour - time.Second)
	if a := b.get(t, v.document()); a.StatusCode != http.StatusOK {
		t.Errorf("just before, it answered %d", a.StatusCode)
	}
	v.Clock.Advance(time.Second)
	if a := b.get(t, v.document()); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after 12 hours it answered %d", a.StatusCode)
	}
}

func TestASessionGoesOnWithTheTokenThatOpenedIt(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t)
	token := v.sim.IDToken(hanako, nil)
	for range 2 {
		if a := b.signIn(t, token); a.StatusCode != http.StatusNoContent {
			t.Fatalf("signing in answered %d", a.StatusCode)
		}
	}
	v.Clock.Advance(2 * time.Hour) // the token has expired, the session has not
	v.fault(t, linesim.Fault{Kind: linesim.FaultDown})
	if a := b.signIn(t, token); a.StatusCode != http.StatusNoContent {
		t.Errorf("with the token expired and LINE down it answered %d", a.StatusCode)
	}
	if n := v.verifications(); n != 1 {
		t.Errorf("LINE was asked %d times, want once", n)
	}
	if a := v.visitor(t).signIn(t, token); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the same token without the session answered %d", a.StatusCode)
	}
	v.sim.ClearFaults()
	v.Clock.Advance(10 * time.Hour)
	if a := b.signIn(t, token); a.StatusCode != http.StatusUnauthorized || a.Header.Get("Viewer-Reason") != "expired" {
		t.Errorf("after the session's end it answered %d %q", a.StatusCode, a.Header.Get("Viewer-Reason"))
	}
}

func TestTheViewersCookieIsItsOwnAndOutOfReachForScripts(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	cookies := v.visitor(t).signIn(t, v.sim.IDToken(hanako, nil)).Cookies()
	if len(cookies) != 1 || cookies[0].Name != "shiftpost_viewer" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Secure {
		t.Errorf("over http: %v", cookies)
	}
	client := line.NewClient(line.Options{BaseURL: v.sim.BaseURL(), Clock: v.Clock})
	v.url = v.serve(t, client, "https://shift.example.jp")
	cookies = v.visitor(t).signIn(t, v.sim.IDToken(hanako, nil)).Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Host-shiftpost_viewer" || !cookies[0].Secure {
		t.Errorf("over https: %v", cookies)
	}
}

func TestAnotherSiteCannotSignABrowserIn(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t)
	a := b.post(t, "/viewer/session", url.Values{"id_token": {v.sim.IDToken(hanako, nil)}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example")
	if a.StatusCode != http.StatusForbidden || v.verifications() != 0 {
		t.Errorf("answered %d, LINE was asked %d times", a.StatusCode, v.verifications())
	}
}

func TestAnOlderDocumentPointsToTheNewest(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	v.Confirm(t, 0, 14, "18:00-21:30")
	second := v.publish(t)
	b := v.visitor(t).as(t, hanako)
	old := b.get(t, v.document())
	if !strings.Contains(old.body, "新しい第2版があります") || !strings.Contains(old.body, `href="/liff/documents/`+second.DocumentID+`"`) {
		t.Error("the first version does not point to the second")
	}
	if strings.Contains(old.body, "公開後に追加") || !strings.Contains(old.body, "1/14(木)") {
		t.Error("own shifts are not those of the newest version")
	}
	if newest := b.get(t, "/viewer/documents/"+second.DocumentID); strings.Contains(newest.body, "新しい第") {
		t.Error("the newest version points to a newer one")
	}
}

func TestOwnShiftsAreLiveAndSayWhatDiffersFromThePublication(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	ctx := t.Context()
	for _, x := range dbtest.Must(v.Store.Month(ctx, v.Group.ID, v.Month))(t).Shifts {
		switch {
		case x.TeacherID != v.Teachers[0].ID:
		case x.Date.Day == 8: // moved to an hour later
			dbtest.Must(v.Store.ChangeShift(ctx, x.ID, x.EditNumber, v.Edit(t, 0, 8, "18:00-21:30")))(t)
		case x.Date.Day == 12:
			dbtest.Must(v.Store.MoveShift(ctx, x.ID, x.EditNumber, roster.ShiftDeleted))(t)
		}
	}
	v.Confirm(t, 0, 20, "9:00-12:00")
	v.Draft(t, 0, 21, "9:00-12:00")
	a := v.visitor(t).as(t, hanako).get(t, v.document())
	for _, want := range []string{`>18:00–21:30</p>`, "公開後に変更", "前は", "公開後に取消", "公開後に追加", "1/20(水)", "この一覧は、公開のあとの変更もふくむ"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	if strings.Contains(a.body, "1/21(木)") {
		t.Error("a draft is shown")
	}
	if ichiros := v.visitor(t).as(t, ichiro).get(t, v.document()); strings.Contains(ichiros.body, "公開後に") {
		t.Error("another teacher is told of changes that are not theirs")
	}
}

func TestShiftsOfAMonthWithoutPublicationAreNotShown(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	in := v.Edit(t, 0, 8, "9:00-12:00")
	in.Date = roster.Date{Year: 2027, Month: time.February, Day: 3}
	dbtest.Must(v.Store.AddShift(t.Context(), in, roster.ShiftConfirmed))(t)
	v.Clock.Advance(30 * 24 * time.Hour)
	a := v.visitor(t).as(t, hanako).get(t, v.document())
	if !strings.Contains(a.body, "これからの出勤はまだありません") || strings.Contains(a.body, "2/3") || strings.Contains(a.body, "2月3日") {
		t.Error("an unpublished month is shown")
	}
}

// shownHash finds what a document's form says it has shown.
func shownHash(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `name="shown" value="`)
	if !ok {
		t.Fatalf("the page asks for no confirmation: %.500s", body)
	}
	hash, _, _ := strings.Cut(rest, `"`)
	return hash
}

func (b *visitor) confirm(t *testing.T, documentID, shown string) answer {
	t.Helper()
	return b.post(t, "/viewer/documents/"+documentID+"/confirmation", url.Values{"shown": {shown}})
}

func TestATeacherConfirmsEachPublicationOnceAndAgainWhenTheirShiftsChange(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	page := b.get(t, v.document()).body
	if !strings.Contains(page, "確認しました") || !strings.Contains(page, "第1版 1月8日(金) 14:32を確認します") {
		t.Error("the page does not ask for a confirmation")
	}
	v.Clock.Advance(10 * time.Minute)
	a := b.confirm(t, v.first.DocumentID, shownHash(t, page))
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != v.document() {
		t.Fatalf("confirming answered %d %q: %s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	page = b.get(t, v.document()).body
	if !strings.Contains(page, "確認済 14:42") || strings.Contains(page, "確認しました") {
		t.Error("the page does not say that it is confirmed")
	}
	v.changeAfterPublication(t)
	page = b.get(t, v.document()).body
	for _, want := range []string{"確認のあとに、あなたのシフトが変わりました", "あなたの変更が 3件あります", "1月8日(金) 14:42に確認してから"} {
		if !strings.Contains(page, want) {
			t.Errorf("after a change the page lacks %q", want)
		}
	}
	second := v.publish(t)
	page = b.get(t, "/viewer/documents/"+second.DocumentID).body
	for _, want := range []string{"前に確認した第1版から", "変更3件を確認します", "<s>17:00–21:30</s>", "<strong>18:00–21:30</strong>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the next publication lacks %q", want)
		}
	}
	if a := b.confirm(t, second.DocumentID, shownHash(t, page)); a.StatusCode != http.StatusSeeOther {
		t.Errorf("confirming the next publication answered %d", a.StatusCode)
	}
	if page := b.get(t, v.document()).body; strings.Contains(page, `name="shown"`) {
		t.Error("an older publication asks for a confirmation")
	}
}

func TestAConfirmationOfWhatIsNoLongerSoIsNotNoted(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	shown := shownHash(t, b.get(t, v.document()).body)
	v.changeAfterPublication(t)
	a := b.confirm(t, v.first.DocumentID, shown)
	if a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "表示のあとで変わりました") || !strings.Contains(a.body, "18:00–21:30") {
		t.Errorf("it answered %d: %.300s", a.StatusCode, a.body)
	}
	v.publish(t)
	if a := b.confirm(t, v.first.DocumentID, shownHash(t, a.body)); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "新しい第2版があります") {
		t.Errorf("of an older publication it answered %d", a.StatusCode)
	}
	for _, r := range dbtest.Must(v.Store.Receipts(t.Context(), v.first.ID))(t) {
		if !r.Receipt.ConfirmedAt.IsZero() {
			t.Errorf("a confirmation was noted: %+v", r)
		}
	}
}

func TestOnlyTeachersConfirmSwitchAndSubscribe(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	admin := v.visitor(t)
	if a := admin.post(t, v.auth.IssueSignInLink(v.Admin.ID), nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in answered %d", a.StatusCode)
	}
	for name, b := range map[string]*visitor{"nobody": v.visitor(t), "an admin": admin} {
		for _, path := range []string{v.document() + "/confirmation", "/viewer/notices", "/viewer/calendar"} {
			if a := b.post(t, path, url.Values{}); a.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %s answered %d", name, path, a.StatusCode)
			}
		}
	}
	b := v.visitor(t).as(t, hanako)
	if a := b.post(t, "/viewer/notices", url.Values{"notices": {"off"}}, "Sec-Fetch-Site", "cross-site"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site's form answered %d", a.StatusCode)
	}
}

func TestATeacherTurnsNoticesOffAndOn(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	for _, c := range []struct{ value, words string }{{"off", "お知らせを受け取る"}, {"on", "お知らせを止める"}} {
		a := b.post(t, "/viewer/notices", url.Values{"notices": {c.value}})
		if a.StatusCode != http.StatusOK || !strings.Contains(a.body, c.words) {
			t.Errorf("turning them %s answered %d: %.300s", c.value, a.StatusCode, a.body)
		}
		if got := dbtest.Must(v.Store.Teacher(t.Context(), v.Teachers[0].ID))(t).NoticesOn; got != (c.value == "on") {
			t.Errorf("after turning them %s they are %v", c.value, got)
		}
	}
}

func TestACalendarProgramReadsTheShiftsUntilTheAddressEnds(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	made := b.post(t, "/viewer/calendar", url.Values{})
	_, rest, _ := strings.Cut(made.body, v.url+"/calendars/")
	token, _, _ := strings.Cut(rest, ".ics")
	if made.StatusCode != http.StatusOK || token == "" || !strings.Contains(made.body, "webcal://"+strings.TrimPrefix(v.url, "http://")+"/calendars/"+token+".ics") {
		t.Fatalf("making the address answered %d: %.500s", made.StatusCode, made.body)
	}
	if page := b.get(t, v.document()).body; strings.Contains(page, token) || !strings.Contains(page, "新しいアドレスを作る") {
		t.Error("the page tells the secret again, or does not know of it")
	}
	program := v.visitor(t)
	a := program.get(t, "/calendars/"+token+".ics")
	if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/calendar") || len(a.Cookies()) != 0 {
		t.Fatalf("the address answered %d %q", a.StatusCode, a.Header.Get("Content-Type"))
	}
	k := dbtest.Must(ics.ParseCalendar(strings.NewReader(a.body)))(t)
	if n := len(k.Events()); n != 3 {
		t.Errorf("it has %d events, want the teacher's 3", n)
	}
	for _, want := range []string{"METHOD:PUBLISH", "X-WR-CALNAME:佐藤 花子さんの出勤", "SUMMARY:出勤 駅前教室", "LOCATION:駅前教室", "DTSTART:20270108T080000Z", "DTEND:20270108T123000Z", "REFRESH-INTERVAL;VALUE=DURATION:PT1H", "STATUS:CONFIRMED"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("it lacks %s:\n%s", want, a.body)
		}
	}
	id, sequence := k.Events()[1].Id(), k.Events()[1].GetProperty(ics.ComponentPropertySequence).Value
	v.changeAfterPublication(t)
	k = dbtest.Must(ics.ParseCalendar(strings.NewReader(program.get(t, "/calendars/"+token+".ics").body)))(t)
	moved := k.Events()[1]
	if moved.Id() != id || moved.GetProperty(ics.ComponentPropertySequence).Value == sequence {
		t.Errorf("a moved shift is %s in sequence %s, was %s in %s", moved.Id(), moved.GetProperty(ics.ComponentPropertySequence).Value, id, sequence)
	}
	v.Clock.Advance(time.Minute)
	room := dbtest.Must(v.Store.Classroom(t.Context(), v.Classrooms[0].ID))(t)
	if err := v.Store.EditClassroom(t.Context(), room.ID, room.EditNumber, db.ClassroomEdit{GroupID: room.GroupID, Name: "駅前本校", ShortName: room.ShortName, Position: room.Position}); err != nil {
		t.Fatal(err)
	}
	a = program.get(t, "/calendars/"+token+".ics")
	for _, e := range dbtest.Must(ics.ParseCalendar(strings.NewReader(a.body)))(t).Events() {
		if e.Id() != id {
			continue
		}
		was := func(p ics.ComponentProperty) string { return moved.GetProperty(p).Value }
		if e.GetProperty(ics.ComponentPropertyLocation).Value != "駅前本校" || dbtest.Must(strconv.Atoi(e.GetProperty(ics.ComponentPropertySequence).Value))(t) <= dbtest.Must(strconv.Atoi(was(ics.ComponentPropertySequence)))(t) || e.GetProperty(ics.ComponentPropertyLastModified).Value <= was(ics.ComponentPropertyLastModified) {
			t.Errorf("after the classroom got another name the entry is\n%v, before\n%v", e, moved)
		}
	}
	if body := strings.ReplaceAll(a.body, "\r\n", ""); strings.ContainsAny(body, "\r\n") || !strings.HasSuffix(a.body, "\r\n") {
		t.Errorf("a line does not end in CR LF, as RFC 5545 asks:\n%q", a.body)
	}
	for _, path := range []string{"/calendars/unknown.ics", "/calendars/" + token, "/calendars/.ics", "/calendars/shifts/1.ics", "/calendars/shifts/1.ics?teacher=1&until=4102444800&key=x"} {
		if a := program.get(t, path); a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, "この予定は見つかりません") {
			t.Errorf("%s answered %d: %.200s", path, a.StatusCode, a.body)
		}
	}
	if a := b.post(t, "/viewer/calendar", url.Values{"_method": {"DELETE"}}); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "登録用のアドレスを作る") {
		t.Errorf("ending it answered %d: %.300s", a.StatusCode, a.body)
	}
	if a := program.get(t, "/calendars/"+token+".ics"); a.StatusCode != http.StatusNotFound {
		t.Errorf("the ended address answered %d", a.StatusCode)
	}
}

func TestACalendarFileOfOneShiftIsGoodForADayOfWork(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	_, rest, _ := strings.Cut(v.visitor(t).as(t, hanako).get(t, v.document()).body, `href="/calendars/shifts/`)
	path, _, _ := strings.Cut(rest, `"`)
	path = "/calendars/shifts/" + html.UnescapeString(path)
	b := v.visitor(t) // LINE hands the address to another browser
	a := b.get(t, path)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.body, "DTSTART:20270108T080000Z") || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("it answered %d: %s", a.StatusCode, a.body)
	}
	if k := dbtest.Must(ics.ParseCalendar(strings.NewReader(a.body)))(t); len(k.Events()) != 1 {
		t.Errorf("it has %d events", len(k.Events()))
	}
	if a := b.get(t, strings.Replace(path, "teacher=1", "teacher=2", 1)); a.StatusCode != http.StatusNotFound {
		t.Errorf("for another teacher it answered %d", a.StatusCode)
	}
	v.Clock.Advance(12 * time.Hour)
	if a := b.get(t, path); a.StatusCode != http.StatusNotFound {
		t.Errorf("after 12 hours it answered %d", a.StatusCode)
	}
}

func TestANightShiftEndsOnTheNextDayInACalendar(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	_, rest, _ := strings.Cut(v.visitor(t).as(t, ichiro).get(t, v.document()).body, `href="/calendars/shifts/`)
	path, _, _ := strings.Cut(rest, `"`)
	a := v.visitor(t).get(t, "/calendars/shifts/"+html.UnescapeString(path))
	if !strings.Contains(a.body, "DTSTART:20270108T130000Z") || !strings.Contains(a.body, "DTEND:20270108T160000Z") {
		t.Errorf("22:00–25:00 is %s", a.body)
	}
}

func TestALINEThatDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	v.url = v.serve(t, line.NewClient(line.Options{BaseURL: v.sim.BaseURL(), Clock: v.Clock, Timeout: 100 * time.Millisecond}), "")
	v.fault(t, linesim.Fault{Kind: linesim.FaultHang, Endpoint: "verify"})
	if a := v.visitor(t).signIn(t, v.sim.IDToken(hanako, nil)); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Viewer-Reason") != "line" {
		t.Errorf("answered %d %q", a.StatusCode, a.Header.Get("Viewer-Reason"))
	}
}

func TestTheAdminSeesWhoOpenedAndWhoConfirmed(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	admin := v.visitor(t)
	if a := admin.post(t, v.auth.IssueSignInLink(v.Admin.ID), nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in answered %d", a.StatusCode)
	}
	path := "/publications/" + strconv.FormatInt(v.first.ID, 10) + "/receipts"
	see := func(want ...string) {
		t.Helper()
		a := admin.get(t, path)
		if a.StatusCode != http.StatusOK {
			t.Fatalf("the list answered %d: %.300s", a.StatusCode, a.body)
		}
		for _, w := range want {
			if !strings.Contains(a.body, w) {
				t.Errorf("the list lacks %q", w)
			}
		}
		if strings.Contains(a.body, "既読") {
			t.Error("the list says 既読")
		}
	}
	see("0 / 3名", "講師が見る画面", "まだだれも確認していません", "まだ開いていません", "開けません：未連携")
	v.Clock.Advance(time.Minute)
	hanakos, ichiros := v.visitor(t).as(t, hanako), v.visitor(t).as(t, ichiro)
	page := hanakos.get(t, v.document()).body
	ichiros.get(t, v.document())
	if a := admin.get(t, v.document()); a.StatusCode != http.StatusOK {
		t.Fatalf("the admin's look answered %d", a.StatusCode)
	}
	see("2 / 3名", "1月8日(金) 14:33")
	v.Clock.Advance(time.Minute)
	hanakos.confirm(t, v.first.DocumentID, shownHash(t, page))
	see("1 / 3名", "1月8日(金) 14:34")
	v.changeAfterPublication(t)
	see("0 / 3名", "確認のあとに変更")
	v.publish(t)
	see("このあとに第2版を公開しました")
	if a := admin.get(t, "/publications/"+strconv.FormatInt(v.first.ID, 10)); !strings.Contains(a.body, "3名のうち 0名が確認しました") || !strings.Contains(a.body, path) {
		t.Errorf("the publication's page does not lead to the list: %d", a.StatusCode)
	}
	if a := v.visitor(t).get(t, path); a.StatusCode != http.StatusSeeOther {
		t.Errorf("nobody is answered %d", a.StatusCode)
	}
	if a := admin.get(t, "/publications/999/receipts"); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown publication answered %d", a.StatusCode)
	}
}

func TestTheNextShiftIsTheOneThatRunsOrComesNext(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	v.Confirm(t, 0, 9, "9:00-12:00")
	b := v.visitor(t)
	for _, c := range []struct {
		at    time.Time
		words []string
	}{
		{dbtest.Start, []string{"今日 1月8日(金)", "あと2時間28分"}},
		{dbtest.Start.Add(2*time.Hour + 27*time.Minute), []string{"今日 1月8日(金)", "あと1分"}},
		{dbtest.Start.Add(3 * time.Hour), []string{"今日 1月8日(金)", "勤務中"}},
		{dbtest.Start.Add(7 * time.Hour), []string{"明日 1月9日(土)", ">9:00–12:00</p>"}},
		{dbtest.Start.Add(22 * time.Hour), []string{">1月12日(火)</p>"}},
		{dbtest.Start.Add(10 * 24 * time.Hour), []string{"これからの出勤はまだありません"}},
	} {
		v.Clock.Advance(c.at.Sub(v.Clock.Now()))
		page := b.as(t, hanako).get(t, v.document()).body
		for _, w := range c.words {
			if !strings.Contains(page, w) {
				t.Errorf("at %s the page lacks %q", c.at.In(dbtest.Tokyo).Format(time.DateTime), w)
			}
		}
	}
}

func TestTheViewersOwnAddressLeadsToTheDocumentThatConcernsTheReader(t *testing.T) {
	t.Parallel()
	v := newViewerSite(t)
	b := v.visitor(t).as(t, hanako)
	if a := b.get(t, "/viewer"); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != v.document() {
		t.Errorf("it answered %d %q", a.StatusCode, a.Header.Get("Location"))
	}
	v.Confirm(t, 0, 20, "9:00-12:00")
	second := v.publish(t)
	if a := b.get(t, "/viewer"); a.Header.Get("Location") != "/viewer/documents/"+second.DocumentID {
		t.Errorf("after an update it leads to %q", a.Header.Get("Location"))
	}
	v.Clock.Advance(60 * 24 * time.Hour)
	if a := b.as(t, hanako).get(t, "/viewer"); a.Header.Get("Location") != "/viewer/documents/"+second.DocumentID {
		t.Errorf("long after, it leads to %q", a.Header.Get("Location"))
	}
	if a := b.get(t, "/viewer/elsewhere"); a.StatusCode != http.StatusNotFound || !strings.Contains(a.body, "この表は見つかりません") {
		t.Errorf("an unknown address answered %d", a.StatusCode)
	}
	if a := v.visitor(t).get(t, "/viewer"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody is answered %d", a.StatusCode)
	}
}
