package handlers

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// lineSite is the site of a small school with a simulated LINE, its admin signed in. The two linked teachers and twelve
// others are in its LINE group.
type lineSite struct {
	*testSite
	*dbtest.School
	sim *linesim.Simulator
}

// lineTimeout is short, since faults that hang are waited for, and long enough for a busy machine.
const lineTimeout = 2 * time.Second

func newLineSite(t *testing.T) *lineSite {
	t.Helper()
	s := &lineSite{School: dbtest.NewSchool(t)}
	s.sim = linesim.Start(t, linesim.Options{Clock: s.Clock})
	var members []string
	for n := range 14 {
		members = append(members, s.sim.AddUser(linesim.User{ID: dbtest.LINEUserID(n + 1), Name: "LINEの人" + strconv.Itoa(n+1), Friend: true}).ID)
	}
	s.sim.AddGroup(linesim.Group{ID: s.Group.LINEGroupID, Name: s.Group.LINEGroupName, Members: members, BotIn: true})
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	a := auth.New(auth.Options{Store: s.Store, Clock: s.Clock, BaseURL: "http://127.0.0.1", Logger: logger})
	t.Cleanup(a.Close)
	pictures := dbtest.Must(files.Open(filepath.Join(t.TempDir(), "images")))(t)
	t.Cleanup(func() { _ = pictures.Close() })
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections) // the simulator would wait for one that was dialed in vain
	client := line.NewClient(line.Options{BaseURL: s.sim.BaseURL(), Token: s.sim.Channel().AccessToken, Timeout: lineTimeout, Clock: s.Clock,
		HTTPClient: &http.Client{Transport: transport}})
	s.testSite = &testSite{T: t, store: s.Store, clock: s.Clock, admin: s.Admin, log: log}
	s.site = New(Options{
		Store: s.Store, Auth: a, LINE: client, WebhookSecret: s.sim.Channel().Secret, Files: pictures, Clock: s.Clock, Location: dbtest.Tokyo, BaseURL: "http://127.0.0.1", Logger: logger,
		Viewer: ViewerOptions{
			Sessions: auth.NewTeachers(auth.TeachersOptions{Store: s.Store, Verifier: client, LoginChannelID: s.sim.Login().ChannelID, Clock: s.Clock, Logger: logger}),
			LIFFID:   s.sim.Login().LIFFID, LIFFBaseURL: s.sim.LIFFBaseURL(), SDKURL: s.sim.SDKURL(), APIBaseURL: s.sim.BaseURL(),
		},
	})
	server := httptest.NewServer(s.site)
	t.Cleanup(server.Close)
	s.sim.SetEndpointURL(server.URL + "/liff")
	s.sim.SetWebhookURL(server.URL + webhookPath)
	s.browser = newBrowser(t, server.URL)
	s.signIn()
	return s
}

// page is the address of the page about the school's LINE group.
func (s *lineSite) page() string {
	return "/groups/" + strconv.FormatInt(s.Group.ID, 10) + "/line-group"
}

// joined lets the account be invited to a LINE group and the event be worked as the runner would.
func (s *lineSite) joined(n int, name string, members int) {
	s.Helper()
	var in []string
	for i := range members {
		in = append(in, dbtest.LINEUserID(i+1))
	}
	s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(n), Name: name, Members: in, BotIn: true})
	e := roster.LINEEvent{ID: "01JOIN" + strconv.Itoa(n), Kind: roster.BotJoined, GroupID: dbtest.LINEGroupID(n), HappenedAt: s.clock.Now(), Body: []byte(`{}`)}
	dbtest.Must(s.store.ReceiveEvents(s.Context(), []roster.LINEEvent{e}))(s)
	work := dbtest.Must(dbtest.Claim(s.Context(), s.store))(s)
	if err := s.store.FinishEvent(s.Context(), work.Event, db.EventResult{Group: &roster.LINEGroup{Name: name, MemberCount: members}}); err != nil {
		s.Fatal(err)
	}
}

func (s *lineSite) fault(f linesim.Fault) {
	s.Helper()
	if _, err := s.sim.AddFault(f); err != nil {
		s.Fatal(err)
	}
}

func TestANewLINEGroupIsOfferedAndTiedWithOneClick(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	west := dbtest.Must(s.Store.CreateGroup(t.Context(), db.GroupEdit{Name: "西口グループ", LeadMinutes: 120}))(t)
	s.get("/groups").lacks("新しいLINEグループ")
	s.joined(7, "西口 講師", 1)
	s.get("/settings").contains("新しいLINEグループが1つあります")
	// Only the group that has none takes it by one click; the other one has a page to switch on.
	list := s.get("/groups").contains("新しいLINEグループ", "西口 講師", "1名", "1月8日(金) 14:32に招待されました", "西口グループとつなぐ").lacks("駅前・本町グループとつなぐ")
	id := regexp.MustCompile(`name="line_group" value="(\d+)"`).FindStringSubmatch(list.body)[1]
	s.get(s.page()).contains("駅前・本町グループとつなぐ")

	path := "/groups/" + strconv.FormatInt(west.ID, 10) + "/line-group"
	s.follow(s.put(path, fields("line_group", id)).wantRedirect(path)).
		contains("「西口グループ」を、LINEグループ「西口 講師」とつなぎました", "テストを送る（1通）")
	s.get("/groups").lacks("新しいLINEグループ")
	s.put(s.page(), fields("line_group", id)).wantStatus(http.StatusConflict).contains("ほかのグループとつながっています")
	s.put(s.page(), fields("line_group", "999")).wantStatus(http.StatusNotFound)
	s.put(s.page(), fields()).wantStatus(http.StatusBadRequest)

	s.follow(s.del(path).wantRedirect(path)).contains("接続を解除しました", "西口グループとつなぐ")
	s.post("/line-groups/"+id+"/dismissal", fields()).wantRedirect("/groups")
	s.get("/groups").lacks("西口 講師とつなぐ").contains("「西口 講師」を一覧から外しました")
}

func TestWithoutALINEGroupThePageSaysHowToInviteTheAccountAndLooksAgain(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	if err := s.Store.UntieGroup(t.Context(), s.Group.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.DismissLINEGroup(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	// A page that looks every few seconds does not wait for a silent LINE each time.
	s.fault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: "bot info"})
	s.get(s.page()).contains("LINE公式アカウントを招待します")
	asked := len(s.sim.Requests())
	s.get(s.page())
	if n := len(s.sim.Requests()) - asked; n != 0 {
		t.Errorf("LINE got %d more requests", n)
	}
	s.sim.ClearFaults()
	s.clock.Advance(membersRetried)
	info := s.sim.Channel()
	s.get(s.page()).contains("公式アカウント「"+info.DisplayName+"」を招待します", `hx-get="`+s.page()+`"`)
	s.joined(8, "講師のみんな", 3)
	s.get(s.page(), "HX-Request", "true").contains("講師のみんな", "駅前・本町グループとつなぐ").lacks("hx-get", "<html")
}

func TestATestMessageSaysItsCostFirstAndArrivesOnce(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	key := func(a *answer) string {
		t.Helper()
		return regexp.MustCompile(`name="retry_key" value="([0-9a-f-]{36})"`).FindStringSubmatch(a.body)[1]
	}
	first := key(s.get(s.page()).contains("テストを送る（14通）", "グループのメンバー14名に1通ずつ"))
	send := s.page() + "/test-messages"
	for range 2 { // pressed twice
		s.post(send, fields("retry_key", first)).wantStatus(http.StatusOK).contains("LINEが受け付けました", "LINEの14通を使いました")
	}
	if m := s.sim.Messages(s.Group.LINEGroupID); len(m) != 1 || !strings.Contains(m[0].Text(), "テストメッセージ") {
		t.Fatalf("the group shows %d messages", len(m))
	}

	second := key(s.get(s.page()))
	s.fault(linesim.Fault{Kind: linesim.FaultCut, Endpoint: "push", Count: 1, Accept: true})
	lost := s.post(send, fields("retry_key", second)).wantStatus(http.StatusBadGateway).contains("届いたかどうか分かりません（NETWORK）")
	if again := key(lost); again != second {
		t.Errorf("after a lost answer the form would send with the key %s, not %s", again, second)
	}
	s.post(send, fields("retry_key", second)).wantStatus(http.StatusOK).contains("LINEが受け付けました")
	if n := len(s.sim.Messages(s.Group.LINEGroupID)); n != 2 {
		t.Errorf("the group shows %d messages", n)
	}

	third := key(s.get(s.page()))
	s.fault(linesim.Fault{Kind: linesim.FaultMonthly, Endpoint: "push", Count: 1})
	refused := s.post(send, fields("retry_key", third)).wantStatus(http.StatusBadGateway).contains("LINEが受け付けませんでした（HTTP_429）", "You have reached your monthly limit.")
	if key(refused) == third {
		t.Error("after a refusal the form keeps the key")
	}
	s.post(send, fields("retry_key", "x")).wantStatus(http.StatusBadRequest)
	if err := s.Store.UntieGroup(t.Context(), s.Group.ID); err != nil {
		t.Fatal(err)
	}
	s.post(send, fields("retry_key", third)).wantStatus(http.StatusConflict)
	s.sim.AssertRetriesIdentical(t)
	s.sim.AssertKeyOnFirstTry(t)
	s.sim.AssertTimeouts(t)
}

// peopleIn returns the people whom a page names beside a label.
func peopleIn(body, label string) string {
	found := regexp.MustCompile(label + `</dt>\s*<dd>(.*?)</dd>`).FindStringSubmatch(body)
	if found == nil {
		return ""
	}
	return strings.TrimSpace(regexp.MustCompile(`\s*<[^>]*>\s*`).ReplaceAllString(found[1], ""))
}

func TestWhoIsInTheLINEGroupIsSaidBeforeSending(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Of the fourteen members, the first two are linked, the third was a teacher and left, the fourth is somebody's
	// former LINE user; one linked teacher is not in the group.
	left := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "退職 済子", NoticesOn: true}))(t)
	must(s.Store.LinkTeacher(ctx, left.ID, dbtest.LINEUserID(3)))
	must(s.Store.ArchiveTeacher(ctx, left.ID))
	moved := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "機種 変更", NoticesOn: true}))(t)
	must(s.Store.LinkTeacher(ctx, moved.ID, dbtest.LINEUserID(4)))
	must(s.Store.LinkTeacher(ctx, moved.ID, s.sim.AddUser(linesim.User{Name: "新しい電話", Friend: true}).ID))
	must(s.Store.LinkTeacher(ctx, s.Teachers[2].ID, s.sim.AddUser(linesim.User{Name: "健太", Friend: true}).ID))
	page := s.get(s.page()).contains("退職した退職 済子さんが、このLINEグループにいます", "ほか10名（名前は分かりません）")
	if got := peopleIn(page.body, "いる講師"); got != "佐藤 花子さん、鈴木 一郎さん、機種 変更さん" {
		t.Errorf("in the group: %s", got)
	}
	if got := peopleIn(page.body, "いない講師"); got != "機種 変更さん、髙橋 健太さん" {
		t.Errorf("not in the group: %s", got)
	}

	// Asked again within the minute, LINE is not asked again.
	asked := len(s.sim.Requests())
	s.get(s.page())
	if n := len(s.sim.Requests()); n != asked {
		t.Errorf("LINE got %d more requests", n-asked)
	}
	s.clock.Advance(membersKept)
	s.get(s.page())
	if len(s.sim.Requests()) == asked {
		t.Error("LINE is never asked again")
	}
}

func TestWhenLINEIsDownNobodyKnowsWhoIsInTheGroupAndSendingStaysPossible(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	s.fault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500})
	s.get(s.page()).wantStatus(http.StatusOK).contains("いまLINEに確かめられませんでした", "このまま送ることもできます", "テストを送る（14通）").lacks("いる講師")
	s.sim.ClearFaults()
	s.get(s.page()).contains("確かめられませんでした")
	s.clock.Advance(membersRetried)
	s.get(s.page()).contains("いる講師").lacks("確かめられませんでした")
}

func TestAPageFindsOutThatTheAccountIsNoLongerInTheGroup(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	s.sim.SetWebhookURL("") // the event gets lost
	if err := s.sim.RemoveBot(s.Group.LINEGroupID); err != nil {
		t.Fatal(err)
	}
	s.get(s.page()).contains("「みほん塾 講師連絡」から外されています", "もう一度招待すると、続けて使えます").lacks("テストを送る")
	if g := dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t); g.Linked() {
		t.Error("the group still counts as linked")
	}
}

func TestTyingAGroupOffersToAnnounceWhatWasPublishedBefore(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	if err := s.Store.UntieGroup(t.Context(), s.Group.ID); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 0, 8, "17:00-21:30")
	p := s.Publish(t)
	if p.DeliveryID != 0 {
		t.Fatal("a group without LINE was sent something")
	}
	s.joined(7, "講師連絡2", 3)
	id := dbtest.Must(s.Store.UntiedLINEGroups(t.Context()))(t)[0].ID
	path := "/publications/" + strconv.FormatInt(p.PublicationID, 10)
	s.follow(s.put(s.page(), fields("line_group", strconv.FormatInt(id, 10)))).contains("知らせていない公開", `href="`+path+`"`, "1月 第1版")
	dbtest.Must(s.Store.Resend(t.Context(), db.ResendInput{PublicationID: p.PublicationID, AdminID: s.Admin.ID}))(t)
	s.get(s.page()).lacks("知らせていない公開")
}

func TestThePublishPageNamesWhoIsInTheGroupBeforeTheButton(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	ctx := t.Context()
	left := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "退職 済子", NoticesOn: true}))(t)
	if err := s.Store.LinkTeacher(ctx, left.ID, dbtest.LINEUserID(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.ArchiveTeacher(ctx, left.ID); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 0, 8, "17:00-21:30")
	s.site.renderer = lazyDrawer{}
	path := "/groups/" + strconv.FormatInt(s.Group.ID, 10) + "/months/2027-01/publications/new"
	const former = "退職した退職 済子さんが、このLINEグループにいます"
	page := s.get(path+"?wait=1").wantStatus(http.StatusOK).contains(former, "ほか11名（名前は分かりません）", "14通")
	if got := peopleIn(page.body, "いる講師"); got != "佐藤 花子さん、鈴木 一郎さん" {
		t.Errorf("in the group: %s", got)
	}
	if strings.Index(page.body, former) > strings.Index(page.body, "第1版を公開して14通を送る") {
		t.Error("who left is named below the button")
	}

	// The page itself does not wait for LINE; the part that htmx asks for does.
	s.clock.Advance(membersKept)
	s.fault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500})
	s.get(path).wantStatus(http.StatusOK).contains(`hx-get="`+path+`"`).lacks("確かめられませんでした", former)
	s.get(path, "HX-Request", "true").wantStatus(http.StatusOK).contains("いまLINEに確かめられませんでした", "第1版を公開して14通を送る")
}
