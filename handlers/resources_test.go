package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/roster"
)

func TestNewSchoolIsLedToItsFirstGroupAndOn(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.get("/").wantRedirect("/groups/new")
	ts.get("/groups/new").wantStatus(http.StatusOK).contains("まずグループを1つつくってください。", `value="120"`)
	ts.get("/classrooms/new").wantRedirect("/classrooms")
	ts.get("/classrooms").contains("先にグループを追加してください", `href="/groups/new"`)
	ts.get("/teachers/new").wantRedirect("/teachers")
	ts.get("/teachers").contains("先に教室を追加してください")
	ts.get("/patterns").contains("パターンはまだありません")
	ts.get("/settings").contains("0グループ", "0教室", "0種類", "0名").lacks("/months/", `href="/deliveries"`)

	ts.follow(ts.post("/groups", fields("name", "駅前・本町グループ", "lead_minutes", "１２０")).wantRedirect("/groups")).
		contains("「駅前・本町グループ」を追加しました。次は教室を追加してください。", "2時間前", "LINE未接続", "0教室")
	ts.get("/").wantStatus(http.StatusOK).contains("いま対応することはありません。", `href="/groups/1/months/2027-01"`)
	ts.get("/groups/1").wantRedirect("/groups/1/months/2027-01")
	ts.follow(ts.post("/classrooms", fields("name", "駅前教室", "short_name", "駅前", "group", "1"))).contains("「駅前教室」を追加しました。", "1教室")
	ts.follow(ts.post("/teachers", fields("name", "　佐藤　花子 ", "classroom", "1", "notices", "true"))).
		contains("佐藤 花子さんを追加しました。", "未連携", "1名")
	ts.follow(ts.post("/patterns", fields("name", "夜番", "letter", "夜", "times", "22-25"))).contains("「夜番」を追加しました。", "22:00–翌1:00")
	ts.get("/settings").contains("1グループ", "1教室", "1種類", "1名", `href="/groups/1/months/2027-01"`, `href="/deliveries"`)
}

// badForms are forms that are refused, what is said about them, and what of them must come back as it was typed.
var badForms = []struct {
	name  string
	path  string // of the collection
	form  url.Values
	says  []string
	keeps []string
}{
	{"a group without a name", "/groups", fields("name", " 　", "lead_minutes", "120"), []string{"グループ名を入力してください。"}, []string{`value="120"`}},
	{"a group with a long name", "/groups", fields("name", strings.Repeat("長", 41), "lead_minutes", "120"), []string{"グループ名は40文字までで入力してください。"}, []string{strings.Repeat("長", 41)}},
	{"a group with a name that is taken", "/groups", fields("name", "駅前・本町グループ", "lead_minutes", "120"), []string{"「駅前・本町グループ」はもう使われています。"}, nil},
	{"a group that reminds too late", "/groups", fields("name", "南", "lead_minutes", "14"), []string{"リマインドは15から1440までの数で入力してください。"}, []string{`value="南"`, `value="14"`}},
	{"a group that reminds too early", "/groups", fields("name", "南", "lead_minutes", "1441"), []string{"リマインドは15から1440までの数で入力してください。"}, nil},
	{"a group that reminds in words", "/groups", fields("name", "南", "lead_minutes", "二時間"), []string{"リマインドは15から1440までの数で入力してください。"}, []string{`value="二時間"`}},
	{"a group with nothing right", "/groups", fields("name", "", "lead_minutes", ""), []string{"2か所を直してください。", `href="#name"`, `href="#lead_minutes"`}, nil},

	{"a classroom without anything", "/classrooms", fields(), []string{"3か所を直してください。", "教室名を入力してください。", "短い名前を入力してください。", "グループを選んでください。"}, nil},
	{"a classroom with a name that is taken", "/classrooms", fields("name", "駅前教室", "short_name", "駅", "group", "1"), []string{"「駅前教室」はもう使われています。"}, []string{`value="駅"`}},
	{"a classroom with a long short name", "/classrooms", fields("name", "南教室", "short_name", "みなみの教", "group", "1"), []string{"短い名前は4文字までで入力してください。"}, []string{`value="みなみの教"`}},
	{"a classroom of an unknown group", "/classrooms", fields("name", "南教室", "short_name", "南", "group", "99"), []string{"グループを選んでください。"}, []string{`value="南教室"`}},
	{"a classroom out of order", "/classrooms", fields("name", "南教室", "short_name", "南", "group", "1", "position", "0"), []string{"並び順は1から999までの数で入力してください。"}, nil},

	{"a teacher without anything", "/teachers", fields(), []string{"名前を入力してください。", "所属する教室を選んでください。"}, nil},
	{"a teacher with a long name", "/teachers", fields("name", strings.Repeat("あ", 41), "classroom", "1"), []string{"名前は40文字までで入力してください。"}, []string{"selected"}},
	{"a teacher of an unknown classroom", "/teachers", fields("name", "佐藤 花子", "classroom", "99", "notices", "true"), []string{"所属する教室を選んでください。"}, []string{`value="佐藤 花子"`, "checked"}},

	{"a pattern without anything", "/patterns", fields(), []string{"名前を入力してください。", "表の文字を入力してください。", "時間を入力してください。"}, nil},
	{"a pattern with a name that is taken", "/patterns", fields("name", "夕番", "letter", "夕", "times", "17-2130"), []string{"「夕番」はもう使われています。"}, []string{`value="17-2130"`}},
	{"a pattern with a word for a letter", "/patterns", fields("name", "早番", "letter", "はやい", "times", "10-15"), []string{"表の文字は2文字までで入力してください。"}, []string{`value="はやい"`}},
	{"a pattern with impossible minutes", "/patterns", fields("name", "早番", "letter", "早", "times", "17:00-25:70"), []string{"分は00から59までで入力してください。"}, []string{`value="17:00-25:70"`}},
	{"a pattern that ends before it starts", "/patterns", fields("name", "早番", "letter", "早", "times", "22-1"), []string{"日をまたぐときは"}, nil},
	{"a pattern that ends after 30:00", "/patterns", fields("name", "早番", "letter", "早", "times", "22-31"), []string{"時刻は30:00までで入力してください。"}, nil},
	{"a pattern with one time", "/patterns", fields("name", "早番", "letter", "早", "times", "17時"), []string{"始めと終わりの時刻を"}, nil},
}

func TestBadFormComesBackWithItsMessagesAndChangesNothing(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, c := range badForms {
		t.Run(c.name, func(t *testing.T) {
			a := ts.post(c.path, c.form).wantStatus(http.StatusUnprocessableEntity).contains("<title>エラー：", `aria-invalid="true"`).contains(c.says...).contains(c.keeps...)
			if len(c.says) == 1 {
				a.lacks("か所を直してください")
			}
			ts.post(c.path, c.form, "HX-Request", "true").wantStatus(http.StatusUnprocessableEntity).contains(c.says...).lacks("<html", "<title")
		})
	}
	ctx := t.Context()
	groups, _ := ts.store.Groups(ctx)
	classrooms, _ := ts.store.Classrooms(ctx)
	teachers, _ := ts.store.Teachers(ctx)
	patterns, _ := ts.store.Patterns(ctx)
	if n := len(groups) + len(classrooms) + len(teachers) + len(patterns); n != 4 {
		t.Errorf("%d things exist, want the school's 4", n)
	}
}

func TestWhatIsTypedIsShownAsText(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	const evil = `<script>alert("x")</script>`
	ts.follow(ts.post("/groups", fields("name", evil, "lead_minutes", "120"))).contains("&lt;script&gt;alert(").lacks(evil)
	ts.get("/groups/1/edit").lacks(evil)
}

// edits are the edit forms of the school's things: of each, another valid content and what shows it.
var edits = []struct {
	path  string // of the thing
	list  string
	form  url.Values
	saved string
	shows string
	// stored is what a form that was overtaken shows of the stored thing.
	stored string
}{
	{"/groups/1", "/groups", fields("name", "新しい名前", "lead_minutes", "135"), "「新しい名前」を保存しました。", "2時間15分前", "駅前・本町グループ"},
	{"/classrooms/1", "/classrooms", fields("name", "新しい名前", "short_name", "新", "group", "1", "position", "3"), "「新しい名前」を保存しました。", "新しい名前", "駅前教室"},
	{"/teachers/1", "/teachers", fields("name", "新しい 名前", "classroom", "1", "position", "5"), "新しい 名前さんの内容を保存しました。", "送らない", "髙橋 健太"},
	{"/patterns/1", "/patterns", fields("name", "新しい名前", "letter", "新", "times", "8:00-9:30"), "「新しい名前」を保存しました。", "8:00–9:30", "17:00–21:30"},
}

func TestEditIsSavedAndShown(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, c := range edits {
		ts.get(c.path+"/edit").wantStatus(http.StatusOK).contains(`name="edit_number" value="1"`, c.stored, "この内容で保存")
		ts.follow(ts.put(c.path, with(c.form, "edit_number", "1")).wantRedirect(c.list)).contains(c.saved, c.shows)
		ts.get(c.path + "/edit").contains(`name="edit_number" value="2"`)
		ts.put(c.path, c.form).wantStatus(http.StatusBadRequest)
	}
}

func TestOvertakenEditShowsTheLatestAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, c := range edits {
		t.Run(c.list, func(t *testing.T) {
			typed := `value="` + c.form.Get("name") + `"`
			a := ts.put(c.path, with(c.form, "edit_number", "7")).wantStatus(http.StatusConflict).
				contains("ほかの人が 14:32 に変更しました。", "入力は残してあります", c.stored, typed, `name="edit_number" value="1"`)
			a.contains(`role="alert"`)
			// Nothing was saved; the second try, made on purpose, is.
			ts.get(c.path+"/edit").contains(c.stored, `name="edit_number" value="1"`).lacks(typed)
			ts.put(c.path, with(c.form, "edit_number", "1")).wantRedirect(c.list)
		})
	}
}

func TestFormThatIsBothWrongAndOvertakenStaysOvertaken(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, c := range edits {
		ts.put(c.path, with(c.form, "edit_number", "1")).wantRedirect(c.list)
		// Had the refused form taken the latest edit number, mending it would overwrite the other admin's edit unseen.
		ts.put(c.path, with(c.form, "edit_number", "1", "name", "")).wantStatus(http.StatusUnprocessableEntity).
			contains(`name="edit_number" value="1"`).lacks(`name="edit_number" value="2"`)
	}
}

func TestOvertakenByAnArchivingOffersToBringItBack(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	ts.post("/patterns/1/archive", nil).wantRedirect("/patterns")
	ts.put("/patterns/1", with(edits[3].form, "edit_number", "1")).wantStatus(http.StatusConflict).
		contains("利用を終えています", "利用を再開").lacks("この内容で保存")
}

func TestArchivedThingsAreListedBelowAndComeBack(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	// From the leaves up: what others need cannot go first.
	for _, c := range []struct{ path, list, was, heading, back string }{
		{"/teachers/1", "/teachers", "髙橋 健太さんを退職にしました。", "退職した講師", "髙橋 健太さんを講師に戻しました。"},
		{"/classrooms/1", "/classrooms", "「駅前教室」の利用を終えました。", "利用を終えた教室", "「駅前教室」の利用を再開しました。"},
		{"/groups/1", "/groups", "「駅前・本町グループ」の利用を終えました。", "利用を終えたグループ", "「駅前・本町グループ」の利用を再開しました。"},
		{"/patterns/1", "/patterns", "「夕番」の利用を終えました。", "利用を終えたパターン", "「夕番」の利用を再開しました。"},
	} {
		ts.get(c.list).lacks(c.heading)
		ts.follow(ts.post(c.path+"/archive", nil).wantRedirect(c.list)).contains(c.was, c.heading)
		ts.post(c.path+"/archive", nil).wantRedirect(c.list) // twice is once
		ts.get(c.path + "/edit").wantStatus(http.StatusOK).contains("利用を終えています").lacks("この内容で保存")
		ts.follow(ts.del(c.path + "/archive").wantRedirect(c.list)).contains(c.back).lacks(c.heading)
		ts.post(c.path+"/archive", nil).wantRedirect(c.list)
	}
	ts.get("/").wantRedirect("/groups/new")
}

func TestThingsInUseAreNotArchivedAndThePageSaysWhy(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	sc := ts.school()
	ts.post("/groups/1/archive", nil).wantStatus(http.StatusConflict).contains("教室が1つあるため、まだ終えられません。")
	ts.post("/classrooms/1/archive", nil).wantStatus(http.StatusConflict).contains("所属する講師が1名いるため、まだ終えられません。")

	second, err := ts.store.CreateClassroom(t.Context(), db.ClassroomEdit{GroupID: sc.group.ID, Name: "本町教室", ShortName: "本町"})
	if err != nil {
		t.Fatal(err)
	}
	shift := db.ShiftEdit{TeacherID: sc.teacher.ID, ClassroomID: second.ID, Date: roster.Date{Year: 2027, Month: time.January, Day: 12}, Times: sc.pattern.Times}
	if _, err := ts.store.AddShift(t.Context(), shift, roster.ShiftDraft); err != nil {
		t.Fatal(err)
	}
	ts.post("/teachers/1/archive", nil).wantStatus(http.StatusConflict).contains("1/12(火)からのシフトが1件あるため、まだ退職にできません。")
	ts.post("/classrooms/2/archive", nil).wantStatus(http.StatusConflict).contains("1/12(火)からのシフトが1件あるため、まだ終えられません。")
	ts.clock.Advance(10 * 24 * time.Hour)
	ts.signIn()
	ts.post("/classrooms/2/archive", nil).wantRedirect("/classrooms")
	ts.post("/teachers/1/archive", nil).wantRedirect("/teachers")
}

func TestThingsThatLostTheirPlaceDoNotComeBack(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, path := range []string{"/teachers/1", "/classrooms/1", "/groups/1", "/patterns/1"} {
		ts.post(path+"/archive", nil).wantStatus(http.StatusSeeOther)
	}
	ts.del("/teachers/1/archive").wantStatus(http.StatusConflict).contains("所属する教室が利用を終えているため戻せません")
	ts.del("/classrooms/1/archive").wantStatus(http.StatusConflict).contains("グループが利用を終えているため再開できません")
	ts.post("/groups", fields("name", "駅前・本町グループ", "lead_minutes", "120")).wantRedirect("/groups")
	ts.del("/groups/1/archive").wantStatus(http.StatusConflict).contains("同じ名前のグループがあるため再開できません")
	ts.post("/patterns", fields("name", "夕番", "letter", "夕", "times", "17-21")).wantRedirect("/patterns")
	ts.del("/patterns/1/archive").wantStatus(http.StatusConflict).contains("同じ名前のパターンがあるため再開できません")
	ts.post("/classrooms", fields("name", "駅前教室", "short_name", "駅", "group", "2")).wantRedirect("/classrooms")
	ts.put("/classrooms/1", with(edits[1].form, "edit_number", "2", "group", "2")).wantStatus(http.StatusConflict)
}

func TestPresentGroupIsTheOneLookedAtLast(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	if _, err := ts.store.CreateGroup(t.Context(), db.GroupEdit{Name: "南グループ", LeadMinutes: 60}); err != nil {
		t.Fatal(err)
	}
	ts.get("/settings").contains(`href="/groups/1/months/2027-01"`, "駅前・本町グループ（グループを切り替える）")
	ts.get("/groups/2").wantRedirect("/groups/2/months/2027-01")
	ts.get("/settings").contains(`href="/groups/2/months/2027-01"`, "南グループ（グループを切り替える）")
	ts.get("/").contains(`href="/groups/2/months/2027-01"`).lacks(`href="/groups/1/months/2027-01"`)
	ts.post("/groups/2/archive", nil).wantRedirect("/groups")
	ts.get("/").contains(`href="/groups/1/months/2027-01"`).lacks(`href="/groups/2/months/2027-01"`)
}

func TestPresentMonthIsTheSchoolsNotUTCs(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.school()
	ts.clock.Advance(time.Date(2027, 1, 31, 15, 0, 0, 0, time.UTC).Sub(ts.clock.Now())) // 1 February 0:00 in Tokyo
	ts.signIn()
	ts.get("/groups/1").wantRedirect("/groups/1/months/2027-02")
	ts.get("/").contains("2027年2月1日(月) 00:00 現在", "今日 2/1(月)", "3月を編集")
}

func TestPageAndFragmentComeFromOneAddress(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, c := range []struct {
		name    string
		headers []string
		page    bool
	}{
		{"a browser", nil, true},
		{"htmx", []string{"HX-Request", "true"}, false},
		{"htmx following a link", []string{"HX-Request", "true", "HX-Boosted", "true"}, true},
		{"htmx going back", []string{"HX-Request", "true", "HX-History-Restore-Request", "true"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ts.get("/teachers", c.headers...).wantStatus(http.StatusOK).contains("髙橋 健太")
			if c.page {
				a.contains("<!doctype html>", "<title>講師 - Shiftpost</title>", `aria-current="page"`, `name="htmx-config"`)
			} else {
				a.lacks("<html", "<title", `class="bar"`)
			}
			vary := strings.Join(a.header.Values("Vary"), ",")
			for _, name := range []string{"HX-Request", "HX-Boosted", "HX-History-Restore-Request", "Cookie", "Accept-Language"} {
				if !strings.Contains(vary, name) {
					t.Errorf("Vary %q lacks %s", vary, name)
				}
			}
		})
	}
}

func TestSentenceAboutWhatWasDoneIsShownOnceAndOnAPageOnly(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.post("/groups", fields("name", "南", "lead_minutes", "60")).wantRedirect("/groups")
	ts.get("/groups", "HX-Request", "true").lacks("「南」を追加しました")
	ts.get("/groups").contains("「南」を追加しました", `role="status"`)
	ts.get("/groups").lacks("「南」を追加しました")
}

func TestAfterAnHTMXFormTheWholePageIsLeft(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	a := ts.post("/groups", fields("name", "南", "lead_minutes", "60"), "HX-Request", "true").wantStatus(http.StatusNoContent)
	if got := a.header.Get("HX-Redirect"); got != "/groups" {
		t.Errorf("HX-Redirect %q, want /groups", got)
	}
}

func TestPagesLoadOnlyAssetsThatExist(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	body := ts.get("/settings").body
	found := 0
	for _, part := range strings.Split(body, `"`) {
		if strings.HasPrefix(part, "/static/") {
			found++
			ts.get(part).wantStatus(http.StatusOK)
		}
	}
	if found < 5 {
		t.Errorf("%d assets are loaded, want icon, two style sheets and two scripts", found)
	}
}

func TestEveryPageSpeaksEnglishWithoutAJapaneseWord(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ctx := t.Context()
	g, err := ts.store.CreateGroup(ctx, db.GroupEdit{Name: "Ekimae", LeadMinutes: 90})
	if err != nil {
		t.Fatal(err)
	}
	room, err := ts.store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: "Eki", ShortName: "E"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ts.store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: room.ID, Name: "Maria"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ts.store.CreatePattern(ctx, db.PatternEdit{Name: "Late", Letter: "L", Times: roster.TimeRange{Start: 1320, End: 1500}}); err != nil {
		t.Fatal(err)
	}
	ts.signIn()
	for _, path := range []string{"/settings", "/groups", "/groups/new", "/groups/1/edit", "/classrooms", "/classrooms/new", "/classrooms/1/edit",
		"/teachers", "/teachers/new", "/teachers/1/edit", "/patterns", "/patterns/new", "/patterns/1/edit", "/nothing"} {
		body := ts.get(path, "Accept-Language", "en").body
		// What is Japanese on purpose: the language switch, the admin's name, an example.
		for _, word := range []string{"日本語", "見本 室長", "佐藤 花子"} {
			body = strings.ReplaceAll(body, word, "")
		}
		for _, r := range body {
			if r >= 0x3040 && r <= 0x9fff {
				i := strings.IndexRune(body, r)
				t.Errorf("GET %s in English says …%.60s…", path, body[i:])
				break
			}
		}
	}
}
