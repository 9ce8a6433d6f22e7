package views

import (
	"context"
	"slices"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// HomePath is the address of the home page.
const HomePath = "/"

// PhoneCallsPath is where a phone call in place of a notice is noted.
func PhoneCallsPath(deliveryID int64) string { return DeliveryPath(deliveryID) + "/phone-calls" }

// Home is the home page.
type Home struct {
	roster.Home
	Location   *time.Location
	SweepEvery time.Duration // pace of the recovery sweep
	Seen       string        // tells one look of the page from another
}

// Poll is where the page asks for itself.
func (h Home) Poll() string { return HomePath + "?seen=" + h.Seen }

func (h Home) today() roster.Date { return roster.DateOf(h.At, h.Location) }

// concernLine is one thing to act on: mark, urgency, one sentence, one line of facts, one button.
type concernLine struct {
	ID     string // of its button, so that the focus stays on it when the page follows
	Icon   ui.IconName
	Urgent bool
	Title  string
	Facts  string
	Href   string // where the title leads, if not where the button leads
	Button string
	To     string // where the button leads
	Post   bool   // the button sends instead of leading
	Kind   ui.Kind
}

// failuresShown is how many failed deliveries have a line of their own; the rest are counted in one.
const failuresShown = 5

// concernLines lists what must be acted on, the most urgent first.
func (h Home) concernLines(ctx context.Context) []concernLine {
	var lines []concernLine
	add := func(urgent bool, icon ui.IconName, l concernLine) {
		l.Urgent, l.Icon = urgent, icon
		lines = append(lines, l)
	}
	c := h.Concerns
	for _, x := range c.Holds {
		add(true, ui.IconFailed, h.holdLine(ctx, x))
	}
	for _, n := range c.Missed {
		icon := ui.IconFailed
		if n.MayHaveArrived {
			icon = ui.IconUnknown
		}
		add(true, icon, h.missedLine(ctx, n))
	}
	for _, r := range c.Running {
		add(true, ui.IconWarning, h.runningLine(ctx, r))
	}
	for _, n := range c.Untold {
		add(true, ui.IconWarning, h.untoldLine(ctx, n))
	}
	for i, f := range c.Failed {
		if i == failuresShown && len(c.Failed) > failuresShown+1 {
			add(true, ui.IconFailed, concernLine{ID: "failed", Title: text.N(ctx, "home.failed.more", len(c.Failed)-i), Facts: text.T(ctx, "home.failed.more_help"),
				Button: text.T(ctx, "home.to_deliveries"), To: "/deliveries?state=failed"})
			break
		}
		icon := ui.IconFailed
		if f.MayHaveArrived {
			icon = ui.IconUnknown
		}
		add(true, icon, h.failedLine(ctx, f))
	}
	if q := h.Quota; q.Known() && q.Limited && q.Left() == 0 {
		add(true, ui.IconFailed, concernLine{ID: "quota-used", Title: text.T(ctx, "home.quota.used_up"), Facts: h.quotaFacts(ctx),
			Button: text.T(ctx, "home.quota.look"), To: "#quota"})
	}
	if len(c.Pending) > 0 {
		add(false, ui.IconPending, h.pendingLine(ctx, c.Pending))
	}
	for _, g := range c.Left {
		add(false, ui.IconWarning, concernLine{ID: "left-" + itoa(g.ID), Title: text.T(ctx, "home.left.title", "Name", g.LINEGroupName), Facts: h.ofGroup(ctx, g.Name) + text.T(ctx, "home.left.help"),
			Button: text.T(ctx, "home.left.look"), To: "/groups/" + itoa(g.ID) + "/line-group"})
	}
	publish := ui.Primary // one button of the page is the main one
	for _, m := range c.Months {
		if m.Announcement == roster.AnnouncementMissing && m.Group.Linked() {
			add(false, ui.IconWarning, h.missingLine(ctx, m))
		}
		if change := m.ChangeAhead(h.today()); change != nil {
			l := h.changesLine(ctx, m, *change)
			l.Kind, publish = publish, ui.Plain
			add(false, ui.IconWarning, l)
		}
	}
	if len(c.Unreachable) > 0 {
		add(false, ui.IconWarning, h.unreachableLine(ctx, c.Unreachable))
	}
	for _, d := range c.Drafts {
		add(false, ui.IconPending, concernLine{ID: "drafts-" + itoa(d.Group.ID), Title: text.N(ctx, "home.drafts.title", d.Count),
			Facts:  h.ofGroup(ctx, d.Group.Name) + text.T(ctx, "home.drafts.help", "First", h.shortly(ctx, d.First.Date)+" "+text.Time(ctx, d.First.Times.Start), "Name", d.Teacher),
			Button: text.T(ctx, "home.to_month"), To: DayPath(d.Group.ID, d.First.Date)})
	}
	if q := h.Quota; q.Left() > 0 && q.With(0) != roster.QuotaEnough {
		title := text.T(ctx, "home.quota.tight", "Percent", roster.QuotaWarnPercent)
		if q.With(0) == roster.QuotaOver {
			title = text.T(ctx, "home.quota.over")
		}
		add(false, ui.IconWarning, concernLine{ID: "quota-forecast", Title: title, Facts: h.quotaFacts(ctx), Button: text.T(ctx, "home.quota.look"), To: "#quota"})
	}
	return lines
}

func (h Home) holdLine(ctx context.Context, x roster.Hold) concernLine {
	facts := text.T(ctx, "deliveries.hold_since", "Moment", text.Moment(ctx, x.Since, h.Location))
	if x.ProbeAt.IsZero() {
		facts += text.T(ctx, "home.hold.by_hand")
	} else {
		facts += text.T(ctx, "deliveries.hold_probe", "Time", text.Clock(x.ProbeAt, h.Location))
	}
	return concernLine{ID: "hold-" + string(x.Cause), Title: text.T(ctx, "deliveries.hold."+string(x.Cause)+".title"), Facts: facts,
		Button: text.T(ctx, "home.hold.look"), To: ChannelPath}
}

func (h Home) missedLine(ctx context.Context, n roster.NoticeConcern) concernLine {
	l := concernLine{ID: "phoned-" + itoa(n.ID), Href: DeliveryPath(n.ID), Button: text.T(ctx, "home.phoned"), To: PhoneCallsPath(n.ID), Post: true}
	what := text.T(ctx, "home.what."+string(n.Kind))
	l.Facts = h.shift(ctx, n.Shift)
	if n.Kind == roster.ShiftCancellation {
		l.Facts += text.T(ctx, "home.taken_away")
	} else {
		l.Facts += text.T(ctx, "home.stop")
	}
	if n.MayHaveArrived {
		l.Title = text.T(ctx, "home.missed.unknown", "Name", n.Teacher, "What", what)
		l.Facts += text.T(ctx, "home.missed.unknown_help")
	} else {
		l.Title = text.T(ctx, "home.missed.title", "Name", n.Teacher, "What", what)
		l.Facts += text.T(ctx, "home.missed.help")
	}
	return l
}

func (h Home) runningLine(ctx context.Context, r roster.RunningChange) concernLine {
	side := func(x *roster.ToldShift) string {
		if x == nil {
			return text.T(ctx, "months.none")
		}
		return h.shift(ctx, *x)
	}
	title := "home.running.changed"
	switch {
	case r.Now == nil:
		title = "home.running.taken"
	case r.Before == nil:
		title = "home.running.given"
	}
	return concernLine{ID: "running-" + itoa(r.ShiftID) + "-" + itoa(r.TeacherID), Title: text.T(ctx, title, "Name", r.Teacher),
		Facts:  text.T(ctx, "home.running.help", "Before", side(r.Before), "After", side(r.Now)),
		Button: text.T(ctx, "home.to_month"), To: DayPath(r.GroupID, r.Date)}
}

func (h Home) untoldLine(ctx context.Context, n roster.NoticeConcern) concernLine {
	facts := h.shift(ctx, n.Shift)
	if n.Kind == roster.ShiftCancellation {
		facts += text.T(ctx, "home.taken_away")
	} else {
		facts += text.T(ctx, "home.stop")
	}
	return concernLine{ID: "phoned-" + itoa(n.ID), Href: DeliveryPath(n.ID), Title: text.T(ctx, "home.untold.title", "Name", n.Teacher, "What", text.T(ctx, "home.what."+string(n.Kind))),
		Facts: facts + text.T(ctx, "home.untold.help", "Reason", cannotReason(ctx, n.Code)), Button: text.T(ctx, "home.phoned"), To: PhoneCallsPath(n.ID), Post: true}
}

func (h Home) failedLine(ctx context.Context, f roster.DeliveryConcern) concernLine {
	l := concernLine{ID: "failed-" + itoa(f.ID), Button: text.T(ctx, "home.to_delivery"), To: DeliveryPath(f.ID)}
	if f.Kind.Notice() {
		key := "home.failed.notice"
		if f.MayHaveArrived {
			key = "home.failed.notice_unknown"
		}
		l.Title = text.T(ctx, key, "Name", f.Teacher, "What", text.T(ctx, "home.what."+string(f.Kind)))
		l.Facts = h.about(ctx, f) + text.T(ctx, "home.stop") + CodeReason(ctx, f.Code)
		return l
	}
	key := "home.failed.publication"
	if f.MayHaveArrived {
		key = "home.failed.publication_unknown"
	}
	l.Title = text.T(ctx, key, "Month", text.MonthAlone(ctx, f.Month), "Number", f.Number)
	l.Facts = h.ofGroup(ctx, f.Group) + CodeReason(ctx, f.Code)
	return l
}

// about names what a delivery is about: a shift, or a publication.
func (h Home) about(ctx context.Context, d roster.DeliveryConcern) string {
	if d.Kind.AboutShift() {
		return h.shift(ctx, d.Shift)
	}
	return text.T(ctx, "publications.name", "Month", text.Month(ctx, d.Month), "Number", d.Number)
}

// pendingLine is about all deliveries without a job: why there is none is one fault, and it mends itself.
func (h Home) pendingLine(ctx context.Context, all []roster.DeliveryConcern) concernLine {
	first := all[0]
	what := h.about(ctx, first)
	if first.Kind.Notice() {
		what = text.T(ctx, "publications.person", "Name", first.Teacher) + " " + what
	}
	l := concernLine{ID: "pending", Title: text.N(ctx, "home.pending.title", len(all)),
		Facts:  text.T(ctx, "home.pending.help", "What", what, "Time", text.Clock(first.NextAttemptAt, h.Location)),
		Button: text.T(ctx, "home.to_deliveries"), To: "/deliveries?state=pending"}
	if len(all) == 1 {
		l.Button, l.To = text.T(ctx, "home.to_delivery"), DeliveryPath(first.ID)
	}
	return l
}

func (h Home) missingLine(ctx context.Context, m roster.MonthStand) concernLine {
	return concernLine{ID: "missing-" + itoa(m.PublicationID), Title: text.T(ctx, "home.missing.title", "Month", text.MonthAlone(ctx, m.Month), "Number", m.Number),
		Facts:  h.ofGroup(ctx, m.Group.Name) + text.T(ctx, "home.missing.help", "Name", m.Group.LINEGroupName),
		Button: text.T(ctx, "home.missing.look"), To: PublicationPath(m.PublicationID)}
}

func (h Home) changesLine(ctx context.Context, m roster.MonthStand, first roster.Change) concernLine {
	l := concernLine{ID: "changes-" + itoa(m.PublicationID), Title: text.N(ctx, "home.changes.title", len(m.Changes), "Month", text.MonthAlone(ctx, m.Month)),
		Facts:  h.ofGroup(ctx, m.Group.Name) + text.T(ctx, "home.changes.first", "Date", h.shortly(ctx, first.Date), "Name", first.Teacher.Name),
		Button: text.T(ctx, "home.changes.publish"), To: MonthPath(m.Group.ID, m.Month) + "/publications/new"}
	if m.Group.Linked() {
		l.Facts += text.T(ctx, "home.changes.help")
	}
	return l
}

// peopleNamed is how many teachers a line names; the rest are counted.
const peopleNamed = 3

func (h Home) unreachableLine(ctx context.Context, people []roster.Unreachable) concernLine {
	var named []string
	for _, u := range people[:min(len(people), peopleNamed)] {
		named = append(named, text.T(ctx, "home.unreachable.person", "Name", u.Teacher.Name, "Reason", cannotReason(ctx, u.Code),
			"Start", h.shortly(ctx, u.First.Date)+" "+text.Time(ctx, u.First.Times.Start)))
	}
	facts := strings.Join(named, text.T(ctx, "deliveries.dot"))
	if more := len(people) - len(named); more > 0 {
		facts += text.N(ctx, "publications.more_people", more)
	}
	l := concernLine{ID: "unreachable", Title: text.N(ctx, "home.unreachable.title", len(people)), Facts: facts, Button: text.T(ctx, "home.unreachable.look"), To: "/teachers"}
	switch {
	case len(people) == 1:
		l.To = "/teachers/" + itoa(people[0].Teacher.ID) + "/edit"
	case slices.ContainsFunc(people, func(u roster.Unreachable) bool { return u.Code == roster.CodeTeacherUnlinked }):
		l.Button, l.To = text.T(ctx, "home.unreachable.invite"), "/invitations/new"
	}
	return l
}

// ofGroup names a group in front of facts where there are several.
func (h Home) ofGroup(ctx context.Context, name string) string {
	if h.Groups < 2 {
		return ""
	}
	return text.T(ctx, "home.of_group", "Name", name)
}

// shortly writes a day of a dense line: 今日, 明日, 1/12(火).
func (h Home) shortly(ctx context.Context, d roster.Date) string {
	switch d {
	case h.today():
		return text.T(ctx, "home.today")
	case h.today().AddDays(1):
		return text.T(ctx, "home.tomorrow")
	}
	return text.ShortDate(ctx, d)
}

// shift writes a shift in a dense line: 今日 16:30–20:00 本町教室.
func (h Home) shift(ctx context.Context, x roster.ToldShift) string {
	return h.shortly(ctx, x.Date) + " " + text.Range(ctx, x.Times) + " " + x.Classroom
}

// cannotReason says in a word or two why a teacher cannot be told on LINE.
func cannotReason(ctx context.Context, c roster.Code) string {
	switch c {
	case roster.CodeTeacherUnlinked:
		return text.T(ctx, "teachers.not_linked")
	case roster.CodeLINEDisabled:
		return text.T(ctx, "home.reason.off")
	case roster.CodeTeacherInactive:
		return text.T(ctx, "home.reason.left")
	}
	return text.T(ctx, "teachers.blocked")
}

// dayTitle heads a day: 今日 1/8(金).
func (h Home) dayTitle(ctx context.Context, d roster.Date) string {
	return text.T(ctx, "home.day", "Word", h.shortly(ctx, d), "Date", text.ShortDate(ctx, d))
}

// reminderMark is how far a reminder is: mark and words.
func (h Home) reminderMark(ctx context.Context, on roster.Date, r roster.Reminder) mark {
	switch r.State {
	case roster.ReminderPlanned:
		when := h.timeOfDay(ctx, r.At)
		if at := roster.DateOf(r.At, h.Location); at != on {
			when = text.ShortDate(ctx, at) + " " + when
		}
		return mark{ui.Plain, ui.IconWaiting, text.T(ctx, "home.reminder.planned", "Time", when)}
	case roster.ReminderPending, roster.ReminderQueued, roster.ReminderProcessing:
		return deliveryMark(ctx, roster.Delivery{State: roster.DeliveryState(r.State)})
	case roster.ReminderFailed:
		if r.MayHaveArrived {
			return mark{ui.Attention, ui.IconUnknown, text.T(ctx, "home.reminder.unknown")}
		}
		return deliveryMark(ctx, roster.Delivery{State: roster.Failed})
	case roster.ReminderSent:
		return mark{ui.Done, ui.IconDone, text.T(ctx, "home.reminder.sent", "Time", h.timeOfDay(ctx, r.At))}
	case roster.ReminderDoubtful:
		return mark{ui.Attention, ui.IconWarning, text.T(ctx, "home.reminder.doubtful")}
	case roster.ReminderCalledOff:
		return deliveryMark(ctx, roster.Delivery{State: roster.Canceled})
	case roster.ReminderMissed:
		if r.MayHaveArrived {
			return mark{ui.Attention, ui.IconUnknown, text.T(ctx, "home.reminder.unknown")}
		}
		return mark{ui.Failed, ui.IconFailed, text.T(ctx, "home.reminder.missed")}
	case roster.ReminderCannot:
		return mark{ui.Attention, ui.IconWarning, text.T(ctx, "home.reminder.cannot", "Reason", cannotReason(ctx, r.Code))}
	}
	return mark{ui.Plain, ui.IconCanceled, text.T(ctx, "home.reminder.none")}
}

// moment writes an instant with its day unless that is the present one.
func (h Home) moment(ctx context.Context, t time.Time) string {
	clock := text.Clock(t, h.Location)
	if on := roster.DateOf(t, h.Location); on != h.today() {
		return text.ShortDate(ctx, on) + " " + clock
	}
	return clock
}

// timeOfDay writes the time of an instant as the times of shifts are written: 7:45.
func (h Home) timeOfDay(ctx context.Context, t time.Time) string {
	t = t.In(h.Location)
	return text.Time(ctx, roster.Minutes(t.Hour()*60+t.Minute()))
}

// monthBadge says whether a month is published, and how its announcement stands where that needs saying.
func monthBadge(ctx context.Context, m roster.MonthStand) mark {
	if !m.Published() {
		return mark{ui.Plain, ui.IconPending, text.T(ctx, "home.month.unpublished")}
	}
	published := text.T(ctx, "home.month.published", "Number", m.Number)
	switch m.Announcement {
	case roster.AnnouncementFailed:
		return mark{ui.Failed, ui.IconFailed, published}
	case roster.AnnouncementMissing, roster.AnnouncementCalledOff:
		return mark{ui.Attention, ui.IconWarning, published}
	case roster.AnnouncementWaiting:
		return mark{ui.Accent, ui.IconWaiting, published}
	}
	return mark{ui.Done, ui.IconDone, published}
}

// monthMark is a step of a month on its way to publication.
type monthMark struct {
	Class string // done, now or later
	Icon  ui.IconName
	Words string
}

// monthSteps is how far a month is on its way from drafts to publication.
func (h Home) monthSteps(ctx context.Context, m roster.MonthStand) []monthMark {
	done := func(words string) monthMark { return monthMark{"done", ui.IconDone, words} }
	now := func(words string) monthMark { return monthMark{"now", ui.IconPending, words} }
	later := func(words string) monthMark { return monthMark{"later", "", words} }
	if m.Drafts == 0 && m.Confirmed == 0 && !m.Published() {
		return []monthMark{now(text.T(ctx, "home.month.empty"))}
	}
	drafts, confirmed, published := done(text.T(ctx, "home.month.no_drafts")), later(text.N(ctx, "home.month.confirmed", m.Confirmed)), later(text.T(ctx, "home.month.not_published"))
	if m.Drafts > 0 {
		drafts = now(text.N(ctx, "home.month.drafts", m.Drafts))
	}
	if m.Confirmed > 0 {
		confirmed = done(confirmed.Words)
	}
	switch {
	case m.Published():
		published = done(text.T(ctx, "home.month.published_on", "Date", text.ShortDate(ctx, roster.DateOf(m.PublishedAt, h.Location))))
	case m.Drafts == 0:
		published = now(published.Words)
	}
	return []monthMark{drafts, confirmed, published}
}

// announcementNote says how a month's announcement stands; empty when it was sent, or the group has no LINE group.
func announcementNote(ctx context.Context, m roster.MonthStand) string {
	switch m.Announcement {
	case roster.AnnouncementNone, roster.AnnouncementSent:
		return ""
	}
	return text.T(ctx, "home.announcement."+string(m.Announcement))
}

// quotaFacts is the forecast against the limit in one line.
func (h Home) quotaFacts(ctx context.Context) string {
	q := h.Quota
	return text.T(ctx, "home.quota.facts", "Used", q.Used(), "Forecast", q.Forecast(), "Limit", q.Limit, "Date", text.ShortDate(ctx, q.Month.Add(1).First()))
}

// quotaOutside is how many messages LINE counts that are not ours, 0 if that is not known.
func quotaOutside(q roster.Quota) int {
	if !q.LINEKnown() {
		return 0
	}
	return max(0, q.LINEUsed-q.OwnThen)
}

// sweepState is a recurring pass with what it last did.
type sweepState struct {
	Name string
	mark
	Time string // empty if it never ran
}

// sweeps lists the recurring passes with what they last did, in plain words.
func (h Home) sweeps(ctx context.Context) []sweepState {
	var list []sweepState
	for _, known := range []struct {
		name string
		pace time.Duration
	}{{"reminders", roster.SweepPace}, {"recovery", h.SweepEvery}, {"quota", time.Hour}, {nightlySweep, 24 * time.Hour}} {
		s := sweepState{Name: text.T(ctx, "home.sweep."+known.name+".name"), mark: mark{ui.Attention, ui.IconWarning, text.T(ctx, "home.sweep.never")}}
		for _, run := range h.Linking.Sweeps {
			if run.Name != known.name {
				continue
			}
			s.Time = h.moment(ctx, run.RanAt)
			switch {
			case run.Error != "":
				s.Word = text.T(ctx, "home.sweep.failed")
			case h.At.Sub(run.RanAt) > 2*known.pace:
				s.Word = text.T(ctx, "home.sweep.late")
			case run.Handled == 0:
				s.mark = mark{Kind: ui.Plain, Word: text.T(ctx, "home.sweep."+known.name+".nothing")}
			default:
				s.mark = mark{Kind: ui.Plain, Word: text.N(ctx, "home.sweep."+known.name+".did", run.Handled)}
			}
		}
		if s.Time != "" || known.name != nightlySweep {
			list = append(list, s)
		}
	}
	return list
}

// nightlySweep is the recurring pass that does not run at the start: before its first night it is not missed.
const nightlySweep = "reachability"
