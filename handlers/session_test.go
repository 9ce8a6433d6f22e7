package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"shiftpost/handlers/auth"
)

func TestAdminSignsInAndOut(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.school()
	ts.get("/session/new").wantStatus(http.StatusOK).contains("管理画面にサインイン", `name="password"`, `autocomplete="current-password"`)
	// The address in any case of letters, with spaces around it.
	a := ts.post("/session", fields("email", " Manager@Mihon-Juku.example ", "password", testPassword, "return", "/teachers")).wantRedirect("/teachers")
	cookie := a.header.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || strings.Contains(cookie, "Secure") {
		t.Errorf("session cookie of a http site: %s", cookie)
	}
	ts.get("/teachers").wantStatus(http.StatusOK).contains("見本 室長", "髙橋 健太")
	ts.get("/session/new").wantRedirect("/")

	session := ts.client.Jar.Cookies(mustParse(t, ts.base))
	ts.del("/session").wantRedirect("/session/new")
	ts.get("/teachers").wantStatus(http.StatusSeeOther)
	// The old cookie is worth nothing, even for somebody who kept it.
	thief := ts.another()
	thief.client.Jar.SetCookies(mustParse(t, ts.base), session)
	thief.get("/teachers").wantStatus(http.StatusSeeOther)
}

func TestNobodyIsToldThatTheyAreSignedInWhenTheSessionCannotBeSaved(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	if _, err := ts.store.SessionDB().Exec(`CREATE TRIGGER refuse BEFORE INSERT ON sessions BEGIN SELECT RAISE(FAIL, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
	ts.post("/session", fields("email", testEmail, "password", testPassword)).wantStatus(http.StatusInternalServerError)
	ts.post(ts.site.auth.IssueSignInLink(ts.admin.ID), nil).wantStatus(http.StatusInternalServerError)
	if strings.Contains(ts.log.String(), "admin signed in") {
		t.Error("the log says that the admin signed in")
	}
	if !strings.Contains(ts.log.String(), "save session") {
		t.Error("the log does not say why they are not")
	}
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestSigningInChangesTheSessionToken(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	before := ts.client.Jar.Cookies(mustParse(t, ts.base))
	ts.post("/session", fields("email", testEmail, "password", testPassword)).wantRedirect("/")
	after := ts.client.Jar.Cookies(mustParse(t, ts.base))
	if before[0].Value == after[0].Value {
		t.Error("the token stayed the same")
	}
}

func TestSecureSiteHasASecureCookie(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	a := auth.New(auth.Options{Store: ts.store, Clock: ts.clock, BaseURL: "https://shift.example.jp"})
	defer a.Close()
	if c := a.Sessions.Cookie; !c.Secure || c.Name != "__Host-shiftpost_session" || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %+v", c)
	}
}

func TestWrongPasswordSaysHowManyTriesAreLeft(t *testing.T) {
	t.Parallel()
	for _, email := range []string{testEmail, "nobody@mihon-juku.example"} {
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			ts := newSite(t)
			wrong := fields("email", email, "password", "wrong password", "return", "/teachers")
			ts.post("/session", wrong).wantStatus(http.StatusUnprocessableEntity).
				contains("サインインできませんでした。", "あと4回まちがえると15分お待ちいただきます。", `value="`+email+`"`, `value="/teachers"`, "<title>エラー：").
				lacks("wrong password")
			for _, left := range []string{"あと3回", "あと2回", "あと1回"} {
				ts.post("/session", wrong).wantStatus(http.StatusUnprocessableEntity).contains(left)
			}
			a := ts.post("/session", wrong).wantStatus(http.StatusTooManyRequests).contains("14:47までお待ちください", `value="`+email+`"`)
			if got := a.header.Get("Retry-After"); got != "901" {
				t.Errorf("Retry-After %s, want 901", got)
			}
			// Not even the right one is tried now.
			right := fields("email", email, "password", testPassword)
			ts.clock.Advance(15*time.Minute - time.Second)
			ts.post("/session", right).wantStatus(http.StatusTooManyRequests).contains("14:47までお待ちください")
			ts.clock.Advance(time.Second)
			if email == testEmail {
				ts.post("/session", right).wantRedirect("/")
			} else {
				ts.post("/session", right).wantStatus(http.StatusUnprocessableEntity).contains("あと4回")
			}
		})
	}
}

func TestRightPasswordForgivesTheWrongTries(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	wrong := fields("email", testEmail, "password", "wrong password")
	for range 4 {
		ts.post("/session", wrong).wantStatus(http.StatusUnprocessableEntity)
	}
	ts.post("/session", fields("email", testEmail, "password", testPassword)).wantRedirect("/")
	ts.post("/session", wrong).wantStatus(http.StatusUnprocessableEntity).contains("あと4回")
}

func TestEndedSessionIsAskedToSignInAgainAndComesBack(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	ts.clock.Advance(auth.SessionLifetime - time.Second)
	ts.get("/teachers").wantStatus(http.StatusOK)
	ts.clock.Advance(time.Second)

	ts.get("/teachers?x=1").wantRedirect("/session/new?ended=true&return=%2Fteachers%3Fx%3D1")
	ts.get("/").wantRedirect("/session/new?ended=true")
	ts.get("/session/new?ended=true&return=%2Fteachers%3Fx%3D1").contains("もう一度サインインしてください", `value="/teachers?x=1"`)
	first := ts.another() // who never was signed in is not told that time has passed
	first.get("/teachers?x=1").wantRedirect("/session/new?return=%2Fteachers%3Fx%3D1")
	first.get("/session/new?return=%2Fteachers%3Fx%3D1").lacks("もう一度").contains(`value="/teachers?x=1"`)

	t.Run("htmx is told to leave the page", func(t *testing.T) {
		a := ts.get("/teachers", "HX-Request", "true", "HX-Current-URL", ts.base+"/groups/1/edit").wantStatus(http.StatusUnauthorized)
		if got := a.header.Get("HX-Redirect"); got != "/session/new?ended=true&return=%2Fgroups%2F1%2Fedit" {
			t.Errorf("HX-Redirect %q", got)
		}
		a.lacks("髙橋 健太")
	})
	t.Run("a form comes back to its page", func(t *testing.T) {
		ts.post("/patterns", fields("name", "早番"), "Referer", ts.base+"/patterns/new").wantRedirect("/session/new?ended=true&return=%2Fpatterns%2Fnew")
		ts.post("/patterns", fields("name", "早番"), "Referer", "https://evil.example/patterns/new").wantRedirect("/session/new?ended=true")
		patterns, err := ts.store.Patterns(t.Context())
		if err != nil || len(patterns) != 1 {
			t.Errorf("patterns: %v, %v, want the school's one", patterns, err)
		}
	})
	ts.post("/session", fields("email", testEmail, "password", testPassword, "return", "/teachers?x=1")).wantRedirect("/teachers?x=1")
}

func TestNewPasswordEndsSessions(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.get("/settings").wantStatus(http.StatusOK)
	if err := ts.store.SetAdminPassword(t.Context(), testEmail, auth.HashPassword("another password")); err != nil {
		t.Fatal(err)
	}
	ts.get("/settings").wantStatus(http.StatusSeeOther)
}

func TestSignInLinkSignsInOnceWhenItsButtonIsPressed(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.school()
	path := ts.site.auth.IssueSignInLink(ts.admin.ID)
	for range 2 {
		ts.get(path).wantStatus(http.StatusOK).contains("このボタンは1回だけ使えます", `action="`+path+`"`)
	}
	ts.get("/settings").wantStatus(http.StatusSeeOther)
	ts.post(path, nil).wantRedirect("/")
	ts.get("/settings").wantStatus(http.StatusOK).contains("サインインしました。")
	ts.get("/settings").lacks("サインインしました。")

	second := ts.another()
	second.post(path, nil).wantRedirect(path)
	second.get(path).wantStatus(http.StatusGone).contains("このサインイン用のリンクは使えません").lacks("見本 室長")
	second.get("/settings").wantStatus(http.StatusSeeOther)
}

func TestSignInLeadsToPagesOfThisSiteOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, want string }{
		{"/teachers", "/teachers"},
		{"/groups/1/months/2027-01?day=3#x", "/groups/1/months/2027-01?day=3#x"},
		{"", "/"},
		{"teachers", "/"},
		{"//evil.example", "/"},
		{"///evil.example", "/"},
		{`/\evil.example`, "/"},
		{"/\tevil", "/"},
		{"https://evil.example/", "/"},
		{"javascript:alert(1)", "/"},
		{"http:/teachers", "/"},
		{"/%zz", "/"},
	} {
		if got := localPath(c.path); got != c.want {
			t.Errorf("localPath(%q) = %q, want %q", c.path, got, c.want)
		}
	}
}

func TestLanguageIsTheChosenOneElseTheBrowsers(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.get("/session/new").contains(`<html lang="ja">`, "サインイン", "English")
	ts.get("/session/new", "Accept-Language", "en-GB,en;q=0.9").contains(`<html lang="en">`, "Sign in", "日本語").lacks("サインイン")

	ts.post("/language", fields("language", "en", "return", "/session/new?return=%2Fteachers")).wantRedirect("/session/new?return=%2Fteachers")
	ts.get("/session/new", "Accept-Language", "ja").contains(`<html lang="en">`)
	ts.post("/language", fields("language", "ja", "return", "//evil.example")).wantRedirect("/")
	ts.get("/session/new", "Accept-Language", "en").contains(`<html lang="ja">`)
	ts.post("/language", fields("language", "xx")).wantStatus(http.StatusBadRequest)
}
