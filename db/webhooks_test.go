package db_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// events makes events of LINE as seconds after the test's start.
type events struct{ n int }

func (v *events) at(second int, kind roster.LINEEventKind, group, user string) roster.LINEEvent {
	v.n++
	return roster.LINEEvent{
		ID: fmt.Sprintf("01EVENT%019d", v.n), Kind: kind, HappenedAt: dbtest.Start.Add(time.Duration(second) * time.Second),
		GroupID: group, UserID: user, Body: []byte(`{"type":"` + string(kind) + `"}`),
	}
}

// receive stores events and works every job that is due, letting LINE answer with found.
func receive(t *testing.T, s *db.Store, found *roster.LINEGroup, list ...roster.LINEEvent) {
	t.Helper()
	dbtest.Must(s.ReceiveEvents(t.Context(), list))(t)
	workEvents(t, s, db.EventResult{Group: found})
}

// workEvents works every job that is due and returns what was asked of LINE.
func workEvents(t *testing.T, s *db.Store, r db.EventResult) []*db.WebhookEvent {
	t.Helper()
	var asked []*db.WebhookEvent
	for {
		work, err := dbtest.Claim(t.Context(), s)
		if errors.Is(err, queue.ErrNone) {
			return asked
		}
		if err != nil {
			t.Fatal(err)
		}
		if work.Event == nil {
			continue
		}
		asked = append(asked, work.Event)
		if err := s.FinishEvent(t.Context(), work.Event, r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnInvitationToALINEGroupMakesItKnownWithItsNameAndSize(t *testing.T) {
	t.Parallel()
	s, _ := dbtest.Open(t)
	var v events
	id := dbtest.LINEGroupID(7)
	receive(t, s, &roster.LINEGroup{Name: "西口 講師", MemberCount: 9}, v.at(0, roster.BotJoined, id, ""))
	list := dbtest.Must(s.UntiedLINEGroups(t.Context()))(t)
	if len(list) != 1 || list[0].LINEGroupID != id || list[0].Name != "西口 講師" || list[0].MemberCount != 9 || !list[0].JoinedAt.Equal(dbtest.Start) {
		t.Errorf("the new groups are %+v", list)
	}
}

func TestALINEGroupIsKnownBeforeLINESaysItsName(t *testing.T) {
	t.Parallel()
	s, clock := dbtest.Open(t)
	var v events
	dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{v.at(0, roster.BotJoined, dbtest.LINEGroupID(7), "")}))(t)
	down := db.EventResult{Err: errors.New("no answer")}
	for try := range roster.MaxEventTries {
		if asked := workEvents(t, s, down); len(asked) != 1 {
			t.Fatalf("try %d asks LINE %d times", try+1, len(asked))
		}
		if list := dbtest.Must(s.UntiedLINEGroups(t.Context()))(t); len(list) != 1 || list[0].Name != "" {
			t.Fatalf("after try %d the new groups are %+v", try+1, list)
		}
		clock.Advance(roster.EventRetryBase << try)
	}
	clock.Advance(24 * time.Hour)
	if asked := workEvents(t, s, down); len(asked) != 0 {
		t.Errorf("a dead letter was worked again")
	}
}

func TestEventsThatComeOutOfOrderEndAsTheyHappened(t *testing.T) {
	t.Parallel()
	id := dbtest.LINEGroupID(7)
	for _, story := range []struct {
		name  string
		kinds []roster.LINEEventKind // as they happened, a second apart
		in    bool
	}{
		{"joined", []roster.LINEEventKind{roster.BotJoined}, true},
		{"joined and left", []roster.LINEEventKind{roster.BotJoined, roster.BotLeft}, false},
		{"left and joined again", []roster.LINEEventKind{roster.BotJoined, roster.BotLeft, roster.BotJoined}, true},
		{"members move, then it is removed", []roster.LINEEventKind{roster.BotJoined, roster.MembersJoined, roster.MembersLeft, roster.BotLeft}, false},
	} {
		n := len(story.kinds)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		permute(order, func(order []int) {
			s, _ := dbtest.Open(t)
			var v events
			var all []roster.LINEEvent
			for i, kind := range story.kinds {
				all = append(all, v.at(i-n, kind, id, ""))
			}
			for _, i := range order { // LINE does not answer, so that only the events say what is so
				dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{all[i]}))(t)
				workEvents(t, s, db.EventResult{Err: errors.New("no answer")})
			}
			if got := len(dbtest.Must(s.UntiedLINEGroups(t.Context()))(t)) == 1; got != story.in {
				t.Errorf("%s, told in the order %v: in it %v, want %v", story.name, order, got, story.in)
			}
		})
	}
}

// permute calls f with every order of a.
func permute(a []int, f func([]int)) {
	var next func(k int)
	next = func(k int) {
		if k == len(a) {
			f(slices.Clone(a))
			return
		}
		for i := k; i < len(a); i++ {
			a[k], a[i] = a[i], a[k]
			next(k + 1)
			a[k], a[i] = a[i], a[k]
		}
	}
	next(0)
}

func TestAnEventToldTwiceIsWorkedOnce(t *testing.T) {
	t.Parallel()
	s, _ := dbtest.Open(t)
	var v events
	e := v.at(0, roster.BotJoined, dbtest.LINEGroupID(7), "")
	if n := dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{e, e}))(t); n != 1 {
		t.Errorf("%d jobs were queued", n)
	}
	workEvents(t, s, db.EventResult{Group: &roster.LINEGroup{Name: "西口"}})
	if n := dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{e}))(t); n != 0 {
		t.Errorf("%d jobs were queued for an event that was worked", n)
	}
}

func TestTheGroupThatIsTiedHearsOfItsLINEGroup(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	var v events
	read := func() roster.Group { return dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t) }
	edit := read().EditNumber
	s.Clock.Advance(time.Minute)
	receive(t, s.Store, &roster.LINEGroup{Name: "みほん塾 講師連絡2", MemberCount: 15}, v.at(60, roster.MembersJoined, s.Group.LINEGroupID, ""))
	if g := read(); g.LINEGroupName != "みほん塾 講師連絡2" || g.LINEMemberCount != 15 || !g.Linked() {
		t.Errorf("after somebody joined the group is %+v", g)
	}
	receive(t, s.Store, nil, v.at(60, roster.BotLeft, s.Group.LINEGroupID, ""))
	if g := read(); g.Linked() || !g.LINELeftAt.Equal(dbtest.Start.Add(time.Minute)) {
		t.Errorf("after the account was removed the group is %+v", g)
	}
	s.Clock.Advance(time.Minute)
	receive(t, s.Store, &roster.LINEGroup{Name: "みほん塾 講師連絡2", MemberCount: 15}, v.at(120, roster.BotJoined, s.Group.LINEGroupID, ""))
	if g := read(); !g.Linked() {
		t.Errorf("after it was invited again the group is %+v", g)
	}
	if g := read(); g.EditNumber != edit {
		t.Errorf("what LINE tells overtakes a form: edit number %d, was %d", g.EditNumber, edit)
	}
}

func TestAGroupIsTiedToTheLINEGroupThatWasJoinedLast(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	var v events
	receive(t, s.Store, nil, v.at(0, roster.BotLeft, s.Group.LINEGroupID, ""))
	for i, name := range []string{"西口", "東口"} {
		receive(t, s.Store, &roster.LINEGroup{Name: name, MemberCount: 4}, v.at(i, roster.BotJoined, dbtest.LINEGroupID(7+i), ""))
	}
	list := dbtest.Must(s.Store.UntiedLINEGroups(ctx))(t)
	if len(list) != 2 || list[0].Name != "東口" {
		t.Fatalf("the new groups are %+v", list)
	}
	if err := s.Store.TieLINEGroup(ctx, s.Group.ID, list[0].ID); err != nil {
		t.Fatal(err)
	}
	g := dbtest.Must(s.Store.Group(ctx, s.Group.ID))(t)
	if !g.Linked() || g.LINEGroupName != "東口" || g.LINEMemberCount != 4 {
		t.Errorf("the group is %+v", g)
	}
	other := dbtest.Must(s.Store.CreateGroup(ctx, db.GroupEdit{Name: "東口グループ", LeadMinutes: 120}))(t)
	if err := s.Store.TieLINEGroup(ctx, other.ID, list[0].ID); !errors.Is(err, db.ErrLinkTaken) {
		t.Errorf("tying it twice: %v", err)
	}
	receive(t, s.Store, nil, v.at(1, roster.BotLeft, list[1].LINEGroupID, ""))
	if err := s.Store.TieLINEGroup(ctx, other.ID, list[1].ID); !errors.Is(err, db.ErrLINEGroupLeft) {
		t.Errorf("tying one that was left: %v", err)
	}
	if err := s.Store.UntieGroup(ctx, s.Group.ID); err != nil {
		t.Fatal(err)
	}
	if list := dbtest.Must(s.Store.UntiedLINEGroups(ctx))(t); len(list) != 1 || list[0].Name != "東口" {
		t.Errorf("after untying, the groups to choose from are %+v", list)
	}
}

func TestADismissedLINEGroupIsListedAgainWhenTheAccountIsInvitedAgain(t *testing.T) {
	t.Parallel()
	s, _ := dbtest.Open(t)
	var v events
	found := &roster.LINEGroup{Name: "知らないグループ", MemberCount: 3}
	id := dbtest.LINEGroupID(7)
	count := func() int { return len(dbtest.Must(s.UntiedLINEGroups(t.Context()))(t)) }
	receive(t, s, found, v.at(0, roster.BotJoined, id, ""))
	l := dbtest.Must(s.UntiedLINEGroups(t.Context()))(t)[0]
	if err := s.DismissLINEGroup(t.Context(), l.ID); err != nil {
		t.Fatal(err)
	}
	receive(t, s, found, v.at(1, roster.MembersJoined, id, ""))
	if n := count(); n != 0 {
		t.Errorf("somebody who joins brings it back: %d groups", n)
	}
	receive(t, s, found, v.at(2, roster.BotJoined, id, ""))
	if n := count(); n != 1 {
		t.Errorf("invited again, %d groups are listed", n)
	}
}

func TestAnythingSaidInAnUnknownGroupMakesItKnownAndIsNotKept(t *testing.T) {
	t.Parallel()
	s, _ := dbtest.Open(t)
	var v events
	id := dbtest.LINEGroupID(7)
	say := func(second int) int {
		return dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{v.at(second, "message", id, dbtest.LINEUserID(1))}))(t)
	}
	if n := say(0); n != 1 {
		t.Fatalf("%d jobs were queued", n)
	}
	workEvents(t, s, db.EventResult{Group: &roster.LINEGroup{Name: "西口", MemberCount: 2}})
	if list := dbtest.Must(s.UntiedLINEGroups(t.Context()))(t); len(list) != 1 || list[0].Name != "西口" {
		t.Errorf("the new groups are %+v", list)
	}
	if n := say(1); n != 0 {
		t.Errorf("what is said in a group that is known queued %d jobs", n)
	}
	var kept int
	if err := s.SessionDB().QueryRow(`SELECT count(*) FROM webhook_events WHERE body IS NOT NULL OR (outcome = 'ignored' AND line_user_id || line_group_id || reply_token <> '')`).Scan(&kept); err != nil || kept != 0 {
		t.Errorf("of %d messages more is kept than that they came, %v", kept, err)
	}
}

func TestFollowAndUnfollowSayWhetherATeacherCanBeReached(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	var v events
	user := s.Teachers[0].LINEUserID
	blocked := func() bool { return dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t).Blocked }
	receive(t, s.Store, nil, v.at(10, roster.Unfollowed, "", user))
	if !blocked() {
		t.Error("who blocked the account counts as reachable")
	}
	receive(t, s.Store, nil, v.at(5, roster.Followed, "", user))
	if !blocked() {
		t.Error("an older event that came late counts")
	}
	receive(t, s.Store, nil, v.at(11, roster.Followed, "", user))
	if blocked() {
		t.Error("who unblocked the account counts as a blocker")
	}
	receive(t, s.Store, nil, v.at(12, roster.Unfollowed, "", dbtest.LINEUserID(99)))
	if changed := dbtest.Must(s.Store.NoteFriend(t.Context(), user, false, dbtest.Start.Add(3*time.Second)))(t); changed || blocked() {
		t.Error("an answer that is older than the newest event counts")
	}
	if changed := dbtest.Must(s.Store.NoteFriend(t.Context(), user, false, dbtest.Start.Add(20*time.Second)))(t); !changed || !blocked() {
		t.Error("LINE's answer does not count")
	}
}

func TestANewFriendIsWelcomedOnceAndOnlyWhileTheTokenLives(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t, func(o *db.Options) { o.Delivery.Lease = roster.ReplyTokenLife / 2 })
	var v events
	follow := func(second int, user string) []*db.WebhookEvent {
		e := v.at(second, roster.Followed, "", user)
		e.ReplyToken = "reply-token"
		dbtest.Must(s.Store.ReceiveEvents(t.Context(), []roster.LINEEvent{e}))(t)
		return workEvents(t, s.Store, db.EventResult{})
	}
	if asked := follow(0, s.Teachers[0].LINEUserID); len(asked) != 1 || asked[0].ReplyToken != "reply-token" || !asked[0].Linked {
		t.Errorf("a linked teacher: %+v", asked)
	}
	if asked := follow(0, dbtest.LINEUserID(99)); len(asked) != 1 || asked[0].Linked {
		t.Errorf("a stranger: %+v", asked)
	}
	if asked := follow(-60, dbtest.LINEUserID(98)); len(asked) != 0 {
		t.Errorf("a minute later: %+v", asked)
	}

	e := v.at(0, roster.Followed, "", dbtest.LINEUserID(97))
	e.ReplyToken = "another-token"
	dbtest.Must(s.Store.ReceiveEvents(t.Context(), []roster.LINEEvent{e}))(t)
	if work := dbtest.Must(dbtest.Claim(t.Context(), s.Store))(t); work.Event.ReplyToken != "another-token" {
		t.Fatalf("the claim hands out %+v", work.Event)
	}
	// The worker is gone; what it may have sent is not sent again.
	s.Clock.Advance(s.Store.DeliveryOptions().Lease)
	if work := dbtest.Must(dbtest.Claim(t.Context(), s.Store))(t); work.Event != nil {
		t.Errorf("the second claim hands out %+v", work.Event)
	}
}

func TestAnEventWhoseWorkerIsGoneIsTakenOverAndGivenUpInTheEnd(t *testing.T) {
	t.Parallel()
	s, clock := dbtest.Open(t)
	var v events
	dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{v.at(0, roster.BotJoined, dbtest.LINEGroupID(7), "")}))(t)
	var first *db.WebhookEvent
	for i := range roster.MaxEventTries {
		work := dbtest.Must(dbtest.Claim(t.Context(), s))(t)
		if work.Event == nil || work.Event.GroupID == "" {
			t.Fatalf("claim %d hands out %+v", i+1, work)
		}
		if first == nil {
			first = work.Event
		}
		clock.Advance(s.DeliveryOptions().Lease)
	}
	if work := dbtest.Must(dbtest.Claim(t.Context(), s))(t); work.Event != nil {
		t.Errorf("it is handed out once more: %+v", work.Event)
	}
	if err := s.FinishEvent(t.Context(), first, db.EventResult{Group: &roster.LINEGroup{Name: "西口"}}); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("a result that came too late: %v", err)
	}
}

func TestEventsOfAnEarlierProcessAreQueuedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone, _ := dbtest.Open(t, func(o *db.Options) { o.Dir = dir })
	var v events
	dbtest.Must(gone.ReceiveEvents(t.Context(), []roster.LINEEvent{v.at(0, roster.BotJoined, dbtest.LINEGroupID(7), "")}))(t)
	if work := dbtest.Must(dbtest.Claim(t.Context(), gone))(t); work.Event == nil {
		t.Fatal("nothing was claimed")
	}
	s, _ := dbtest.Open(t, func(o *db.Options) { o.Dir = dir })
	if n := dbtest.Must(s.RecoverOrphans(t.Context()))(t); n != 1 {
		t.Errorf("%d jobs were taken back", n)
	}
	if asked := workEvents(t, s, db.EventResult{Group: &roster.LINEGroup{Name: "西口"}}); len(asked) != 1 {
		t.Errorf("%d events were worked", len(asked))
	}
}

func TestEventsAreRemovedAMonthAfterTheyEnded(t *testing.T) {
	t.Parallel()
	s, clock := dbtest.Open(t)
	var v events
	receive(t, s, nil, v.at(0, roster.BotLeft, dbtest.LINEGroupID(7), ""))
	dead := v.at(0, roster.BotJoined, dbtest.LINEGroupID(8), "")
	dbtest.Must(s.ReceiveEvents(t.Context(), []roster.LINEEvent{dead}))(t)
	for try := range roster.MaxEventTries {
		workEvents(t, s, db.EventResult{Err: errors.New("no answer")})
		clock.Advance(roster.EventRetryBase << try)
	}
	count := func(query string) (n int) {
		t.Helper()
		if err := s.SessionDB().QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(`SELECT count(*) FROM jobs WHERE state = 'dead'`); n != 1 {
		t.Fatalf("%d dead letters", n)
	}
	clock.Advance(31 * 24 * time.Hour)
	dbtest.Must(s.Prune(t.Context()))(t)
	if n := count(`SELECT count(*) FROM webhook_events`); n != 0 {
		t.Errorf("%d events are left", n)
	}
	if n := count(`SELECT count(*) FROM jobs WHERE state <> 'done'`); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}
