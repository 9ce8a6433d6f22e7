package views

import (
	"context"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// GroupLINEPath is the address of the page about the LINE group that a group announces to.
func GroupLINEPath(groupID int64) string { return "/groups/" + itoa(groupID) + "/line-group" }

// NewLINEGroups offers the LINE groups that the account was invited to and that are tied to no group.
type NewLINEGroups struct {
	LINEGroups []roster.LINEGroup // the newest first
	Groups     []roster.Group     // that can be tied to one of them by a click here
	Location   *time.Location
}

// GroupLINE is all about the LINE group that a group announces to.
type GroupLINE struct {
	Group       roster.Group
	New         NewLINEGroups
	Members     *Members             // nil when the group is linked to none
	Unannounced []roster.Publication // that this LINE group was never told of
	Account     string               // the name of the LINE account to invite; empty if LINE did not say
	RetryKey    string               // of the test message that the form would send
	Test        *TestMessage         // what became of one; nil if none was sent just now
	Failure     string               // why a LINE group was not tied; empty if that was not tried
}

// Path is the address of the page.
func (g GroupLINE) Path() string { return GroupLINEPath(g.Group.ID) }

// cost is how many messages a test costs, 0 while that is not known.
func (g GroupLINE) cost() int {
	if g.Members != nil && g.Members.Checked {
		return g.Members.Count
	}
	return g.Group.LINEMemberCount
}

// testButton names what pressing it costs.
func (g GroupLINE) testButton(ctx context.Context) string {
	if g.cost() == 0 {
		return text.T(ctx, "linegroups.test.send_uncounted")
	}
	return text.N(ctx, "linegroups.test.send", g.cost())
}

// TestMessage is what LINE answered to a test message.
type TestMessage struct {
	Outcome   roster.Outcome // accepted, refused or unknown
	Code      string         // HTTP_400, TIMEOUT, …; empty when accepted
	Message   string         // LINE's words
	RequestID string         // LINE's number of the request
	Count     int            // messages it cost, if it was accepted; 0 if not known
}

// Members is who of the school is in a LINE group, as LINE said. LINE names only people who are asked for, and the
// school knows only those who were once linked.
type Members struct {
	Checked bool             // LINE answered; else nothing is known
	Count   int              // all members
	Inside  []roster.Teacher // work here
	Former  []roster.Teacher // in it, but no longer work here
	Absent  []roster.Teacher // linked and concerned by the group, but not in it
}

// Unknown is how many members are nobody whom the school knows.
func (m Members) Unknown() int { return max(0, m.Count-len(m.Inside)-len(m.Former)) }

// lineGroupName is a LINE group's name, or that it is not known yet.
func lineGroupName(ctx context.Context, g roster.LINEGroup) string {
	if g.Name == "" {
		return text.T(ctx, "linegroups.nameless")
	}
	return g.Name
}

// people lists teachers: 佐藤 花子さん、鈴木 一郎さん.
func people(ctx context.Context, teachers []roster.Teacher) string {
	var list strings.Builder
	for i := range teachers {
		list.WriteString(person(ctx, teachers, i))
	}
	return list.String()
}

// person is the i-th of a list of teachers, with what stands behind it.
func person(ctx context.Context, teachers []roster.Teacher, i int) string {
	name := text.T(ctx, "publications.person", "Name", teachers[i].Name)
	if i+1 < len(teachers) {
		name += text.T(ctx, "months.comma")
	}
	return name
}
