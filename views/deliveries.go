package views

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// DeliveryPath is the address of a delivery.
func DeliveryPath(id int64) string { return "/deliveries/" + itoa(id) }

// mark is how a state is shown: a shape of its own, a word and a colour.
type mark struct {
	Kind ui.Kind
	Icon ui.IconName
	Word string
}

// deliveryMark is the mark of a delivery's state.
func deliveryMark(ctx context.Context, d roster.Delivery) mark {
	switch d.State {
	case roster.Pending:
		return mark{ui.Plain, ui.IconPending, text.T(ctx, "deliveries.state.pending")}
	case roster.Processing:
		return mark{ui.Accent, ui.IconSending, text.T(ctx, "deliveries.state.processing")}
	case roster.Sent:
		return mark{ui.Done, ui.IconDone, text.T(ctx, "deliveries.state.sent")}
	case roster.Failed:
		return mark{ui.Failed, ui.IconFailed, text.T(ctx, "deliveries.state.failed")}
	case roster.Canceled:
		return mark{ui.Plain, ui.IconCanceled, text.T(ctx, "deliveries.state.canceled")}
	}
	if retries(d) {
		return mark{ui.Accent, ui.IconWaiting, text.T(ctx, "deliveries.state.queued_again")}
	}
	return mark{ui.Accent, ui.IconWaiting, text.T(ctx, "deliveries.state.queued")}
}

// retries reports whether a try was made already.
func retries(d roster.Delivery) bool { return !d.FirstTryAt.IsZero() || d.LadderTries > 0 }

// httpStatus is the number in a code HTTP_<status>, 0 in any other.
func httpStatus(c roster.Code) int {
	n, err := strconv.Atoi(strings.TrimPrefix(string(c), "HTTP_"))
	if err != nil || !strings.HasPrefix(string(c), "HTTP_") {
		return 0
	}
	return n
}

// codeKey names a code in the catalog: the HTTP ones that mean something of their own by their status, the others by
// their class.
func codeKey(c roster.Code) string {
	switch n := httpStatus(c); {
	case n == 0:
		return string(c)
	case n == 400 || n == 401 || n == 403 || n == 409 || n == 429:
		return string(c)
	case n >= 500:
		return "HTTP_5xx"
	case n >= 400:
		return "HTTP_4xx"
	}
	return "HTTP_3xx"
}

// unsure reports whether a code's own sentence says that the message may have arrived.
func unsure(c roster.Code) bool {
	return httpStatus(c) >= 500 || c == roster.CodeTimeout || c == roster.CodeNetwork
}

// CodeReason says in one sentence what a code means.
func CodeReason(ctx context.Context, c roster.Code) string {
	return text.T(ctx, "deliveries.code."+codeKey(c)+".reason", "Status", httpStatus(c))
}

// CodeNext says what to do about it.
func CodeNext(ctx context.Context, c roster.Code) string {
	return text.T(ctx, "deliveries.code."+codeKey(c)+".next", "Status", httpStatus(c))
}

// Delivery is one delivery as its page shows it.
type Delivery struct {
	roster.Delivery
	Group          roster.Group       // publications
	Publication    roster.Publication // publications
	Teacher        roster.Teacher     // notices
	Shift          roster.Shift       // notices: as it is now
	Classroom      roster.Classroom   // notices: the shift's
	By             string             // the admin who made it, empty when the program did
	Holds          []Hold             // why pushes of its kind wait now
	Attempts       []roster.Attempt   // the newest first
	Events         []DeliveryEvent    // the newest first
	MayHaveArrived bool               // a try of it is open or ended without a known answer
	Dead           bool               // its job is a dead letter
	Unwanted       roster.Code        // failed: why a retry is refused, empty if it is not
	Revives        int                // number of the version whose announcement comes back when this one is called off, 0 if none does
	Refusal        string             // why what an admin just wanted was not done, as a whole sentence; empty if it was
	Now            time.Time
	Location       *time.Location
	Quota          roster.Quota
	RetryBase      time.Duration // wait after the first try; doubles with each
	RetryKeyTTL    time.Duration // how long LINE knows a retry key
}

// DeliveryEvent is an entry of a delivery's history beside its attempts.
type DeliveryEvent struct {
	At    time.Time
	Event string
	Code  roster.Code
	Admin string // who did it, empty when the program did
}

// Seen tells one look of the page from another: whoever saw the same has nothing new to see.
func (d Delivery) Seen() string {
	return fmt.Sprintf("%d-%s-%d-%d-%s", d.UpdatedAt.UnixMilli(), d.State, len(d.Attempts), len(d.Events), seenHolds(d.Holds))
}

// headline answers whether the message arrived.
type headline struct {
	Class string // of the panel
	Icon  ui.IconName
	Title string
	Text  string
	Next  string // what to do, empty if nothing
}

func (d Delivery) headline(ctx context.Context) headline {
	switch d.State {
	case roster.Pending:
		return headline{"panel-state-attention", ui.IconPending, text.T(ctx, "deliveries.headline.pending"),
			CodeReason(ctx, d.Code), text.T(ctx, "deliveries.next_at", "Time", d.moment(ctx, d.NextAttemptAt))}
	case roster.Processing:
		return headline{"", ui.IconSending, text.T(ctx, "deliveries.headline.processing"), text.T(ctx, "deliveries.headline.processing_text"), ""}
	case roster.Sent:
		return headline{"panel-state-done", ui.IconDone, text.T(ctx, "deliveries.headline.sent", "Time", d.moment(ctx, d.FinishedAt)), d.sentText(ctx), ""}
	case roster.Failed:
		h := headline{"panel-state-failed", ui.IconFailed, text.T(ctx, "deliveries.headline.failed"), CodeReason(ctx, d.Code), CodeNext(ctx, d.Code)}
		if d.MayHaveArrived {
			h.Class, h.Icon, h.Title = "panel-state-attention", ui.IconUnknown, text.T(ctx, "deliveries.headline.failed_unknown")
		}
		if d.Unwanted != "" {
			h.Next = CodeNext(ctx, d.Unwanted)
		}
		return h
	case roster.Canceled:
		h := headline{"panel-state-off", ui.IconCanceled, text.T(ctx, "deliveries.headline.canceled"), CodeReason(ctx, d.Code), CodeNext(ctx, d.Code)}
		if d.MayHaveArrived {
			h.Title = text.T(ctx, "deliveries.headline.canceled_unknown")
		}
		return h
	}
	if d.held() {
		return headline{"panel-state-attention", ui.IconWaiting, text.T(ctx, "deliveries.headline.held"), text.T(ctx, "deliveries.headline.held_text"), ""}
	}
	switch {
	case !retries(d.Delivery) && d.waiting() > 0:
		return headline{"", ui.IconWaiting, text.T(ctx, "deliveries.headline.undo"), text.T(ctx, "deliveries.headline.undo_text"), ""}
	case !retries(d.Delivery):
		return headline{"", ui.IconWaiting, text.T(ctx, "deliveries.headline.queued"), text.T(ctx, "deliveries.headline.queued_text"), ""}
	}
	h := headline{"", ui.IconWaiting, text.T(ctx, "deliveries.headline.queued_again"), text.T(ctx, "deliveries.headline.interrupted_text"), ""}
	if d.Code != "" {
		h.Text = CodeReason(ctx, d.Code)
	}
	if d.MayHaveArrived {
		h.Next = text.T(ctx, "deliveries.same_key")
	}
	return h
}

// sentText says from which try LINE has the message.
func (d Delivery) sentText(ctx context.Context) string {
	for _, a := range d.Attempts {
		if a.Outcome == roster.Accepted {
			if a.Status == 409 {
				return text.T(ctx, "deliveries.headline.sent_before")
			}
			return text.T(ctx, "deliveries.headline.sent_text", "Number", a.Number)
		}
	}
	return ""
}

// moment writes an instant of the page: 14:47:13, and of another day 1/9(土) 14:47.
func (d Delivery) moment(ctx context.Context, t time.Time) string {
	return shortMoment(ctx, t, d.Now, d.Location)
}

func shortMoment(ctx context.Context, t, now time.Time, loc *time.Location) string {
	if on := roster.DateOf(t, loc); on != roster.DateOf(now, loc) {
		return text.ShortDate(ctx, on) + " " + text.Clock(t, loc)
	}
	return text.ClockSeconds(t, loc)
}

// waiting is how long it is until the next try, 0 if it is due or there is none.
func (d Delivery) waiting() time.Duration {
	if d.State != roster.Queued && d.State != roster.Pending || d.NextAttemptAt.IsZero() {
		return 0
	}
	return max(0, d.NextAttemptAt.Sub(d.Now))
}

// waitTime writes a wait: 3分10秒.
func waitTime(ctx context.Context, d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 60 {
		return text.T(ctx, "deliveries.seconds", "Seconds", s)
	}
	return text.T(ctx, "deliveries.minutes", "Minutes", s/60, "Seconds", s%60)
}

// keyEnd is when the product stops using the retry key; zero before the first try.
func (d Delivery) keyEnd() time.Time {
	if d.KeyFirstTryAt.IsZero() {
		return time.Time{}
	}
	return d.KeyFirstTryAt.Add(d.RetryKeyTTL - roster.RetryKeyMargin)
}

// waits lists the minutes between tries: 2・4・8・16・32.
func (d Delivery) waits(ctx context.Context) string {
	var list []string
	for n := range roster.MaxLadderTries - 1 {
		minutes := (d.RetryBase << n).Minutes()
		list = append(list, strconv.FormatFloat(minutes, 'f', -1, 64))
	}
	return strings.Join(list, text.T(ctx, "deliveries.dot"))
}

// step is one try of the plan.
type step struct {
	Number int
	Class  string // done, unknown, failed, next or later
	Icon   ui.IconName
	Time   string
	Note   string
}

// nextNumber is the number of the try after the newest one. Tries are counted through all ladders, as in the history.
func (d Delivery) nextNumber() int {
	if len(d.Attempts) == 0 {
		return d.LadderTries + 1
	}
	return d.Attempts[0].Number + 1
}

// plan lists the tries of the present ladder: those that were made, the next, and when the ones after would be.
func (d Delivery) plan(ctx context.Context) []step {
	var steps []step
	for _, t := range d.spent() {
		s := step{Number: len(steps) + 1, Time: d.moment(ctx, t.at)}
		if t.attempt != nil {
			s.Number = t.attempt.Number
		}
		s.Class, s.Icon, s.Note = t.look(ctx)
		steps = append(steps, s)
	}
	next, number := d.NextAttemptAt, d.nextNumber()
	if d.State == roster.Processing && len(steps) < roster.MaxLadderTries {
		steps = append(steps, step{d.Attempts[0].Number, "next", ui.IconSending, d.moment(ctx, d.Attempts[0].StartedAt), text.T(ctx, "deliveries.state.processing")})
		next = d.Attempts[0].StartedAt
	} else if d.State.Live() && len(steps) < roster.MaxLadderTries {
		steps = append(steps, step{number, "next", ui.IconWaiting, d.moment(ctx, next), text.T(ctx, "deliveries.plan.next")})
		number++
	}
	for n := len(steps); n < roster.MaxLadderTries; n, number = n+1, number+1 {
		s := step{number, "later", ui.IconCanceled, text.T(ctx, "deliveries.plan.not_needed"), ""}
		if d.State.Live() {
			next = roster.NextTry(next, n, d.RetryBase, d.DeadlineAt)
			s.Icon, s.Time = ui.IconPending, text.T(ctx, "deliveries.plan.about", "Time", text.Clock(next, d.Location))
		} else if d.State != roster.Sent {
			s.Time = text.T(ctx, "deliveries.plan.none")
		}
		if n+1 == roster.MaxLadderTries && d.State.Live() {
			s.Note = text.T(ctx, "deliveries.plan.last")
		}
		steps = append(steps, s)
	}
	return steps
}

// spentTry is a try that counts in the ladder. Without an attempt the message could not be built.
type spentTry struct {
	at      time.Time
	attempt *roster.Attempt
}

// spent lists the tries that count in the present ladder, the oldest first. Interrupted attempts do not.
func (d Delivery) spent() []spentTry {
	var list []spentTry
	for i, a := range d.Attempts {
		if a.Ladder == d.Ladder && !a.FinishedAt.IsZero() && a.Outcome != roster.Interrupted {
			list = append(list, spentTry{a.StartedAt, &d.Attempts[i]})
		}
	}
	for _, e := range d.Events {
		if e.Event == "compose_failed" {
			list = append(list, spentTry{at: e.At})
		}
	}
	slices.SortStableFunc(list, func(a, b spentTry) int { return a.at.Compare(b.at) })
	// One that the program's own end cut off spent none, and earlier ladders' failures to build are in the list too.
	return list[len(list)-min(len(list), d.LadderTries):]
}

// look is how a spent try stands in the plan.
func (t spentTry) look(ctx context.Context) (class string, icon ui.IconName, note string) {
	if t.attempt == nil {
		return "failed", ui.IconFailed, text.T(ctx, "deliveries.plan.not_built")
	}
	a := *t.attempt
	switch a.Outcome {
	case roster.Accepted:
		if a.Status == 409 {
			return "done", ui.IconDone, text.T(ctx, "deliveries.plan.accepted_before")
		}
		return "done", ui.IconDone, text.T(ctx, "deliveries.plan.accepted")
	case roster.Refused:
		return "failed", ui.IconFailed, strconv.Itoa(a.Status)
	}
	if a.Status != 0 {
		return "unknown", ui.IconUnknown, strconv.Itoa(a.Status)
	}
	return "unknown", ui.IconUnknown, text.T(ctx, "deliveries.plan.no_answer")
}

// entry is one line of the history.
type entry struct {
	At      time.Time
	Class   string // done, unknown, failed, next or plain
	Icon    ui.IconName
	Title   string
	Text    string
	Details []string
	Words   string // LINE's own
}

// history merges attempts, events and the next try, the newest first.
func (d Delivery) history(ctx context.Context) []entry {
	var list []entry
	for _, a := range d.Attempts {
		list = append(list, d.attemptEntry(ctx, a))
	}
	for _, e := range d.Events {
		// The interrupted attempt says the same.
		if e.Event != "interrupted" {
			list = append(list, eventEntry(ctx, e))
		}
	}
	if made, ok := d.madeEntry(ctx); ok {
		list = append(list, made)
	}
	// Of one instant the attempt came after what was saved, which stands behind it.
	slices.SortStableFunc(list, func(a, b entry) int { return b.At.Compare(a.At) })
	if d.State == roster.Queued && d.waiting() > 0 && retries(d.Delivery) {
		next := entry{At: d.NextAttemptAt, Class: "next", Icon: ui.IconWaiting,
			Title: text.T(ctx, "deliveries.history.next", "Number", d.nextNumber())}
		if end := d.keyEnd(); !end.IsZero() {
			next.Text = text.T(ctx, "deliveries.history.key", "Moment", text.Moment(ctx, end, d.Location))
		}
		list = append([]entry{next}, list...)
	}
	return list
}

// madeEntry tells who made the delivery; not when an event of the same instant tells that it could not be queued.
func (d Delivery) madeEntry(ctx context.Context) (entry, bool) {
	for _, e := range d.Events {
		if e.Event == "enqueue_failed" && e.At.Equal(d.CreatedAt) {
			return entry{}, false
		}
	}
	e := entry{At: d.CreatedAt, Class: "plain", Icon: ui.IconPending, Title: text.T(ctx, "deliveries.event.made")}
	if d.By != "" {
		e.Text = text.T(ctx, "deliveries.by", "Admin", d.By)
	}
	return e, true
}

// attemptEntry tells an attempt in plain words.
func (d Delivery) attemptEntry(ctx context.Context, a roster.Attempt) entry {
	kind, class, icon := attemptKind(a)
	e := entry{At: a.StartedAt, Class: class, Icon: icon,
		Title: text.T(ctx, "deliveries.history.try", "Number", a.Number, "What", text.T(ctx, "deliveries.attempt."+kind+".title", "Status", a.Status)),
		Text:  text.T(ctx, "deliveries.attempt."+kind+".text", "Status", a.Status),
	}
	if kind == "refused" {
		e.Text = CodeReason(ctx, a.Code)
		e.Words = a.Message
	}
	if !a.FinishedAt.IsZero() {
		e.Details = append(e.Details, text.T(ctx, "deliveries.took", "Seconds", strconv.FormatFloat(a.FinishedAt.Sub(a.StartedAt).Seconds(), 'f', 1, 64)))
	}
	if a.Code != "" {
		e.Details = append(e.Details, string(a.Code))
	}
	if a.AcceptedRequestID != "" {
		e.Details = append(e.Details, text.T(ctx, "deliveries.accepted_request", "ID", a.AcceptedRequestID))
	}
	if a.RequestID != "" {
		e.Details = append(e.Details, text.T(ctx, "deliveries.request", "ID", a.RequestID))
	}
	return e
}

// attemptKind sorts an attempt: the key of its sentences in the catalog, its colour and its mark.
func attemptKind(a roster.Attempt) (key, class string, icon ui.IconName) {
	switch a.Outcome {
	case "":
		return "open", "next", ui.IconSending
	case roster.Accepted:
		if a.Status == 409 {
			return "accepted_before", "done", ui.IconDone
		}
		return "accepted", "done", ui.IconDone
	case roster.Refused:
		return "refused", "failed", ui.IconFailed
	case roster.Interrupted:
		return "interrupted", "unknown", ui.IconUnknown
	}
	switch {
	case a.Status >= 500:
		return "fault", "unknown", ui.IconUnknown
	case a.Code == roster.CodeTimeout:
		return "timeout", "unknown", ui.IconUnknown
	case a.Code == roster.CodeInternal:
		return "internal", "unknown", ui.IconUnknown
	}
	return "network", "unknown", ui.IconUnknown
}

// eventEntry tells an event in plain words.
func eventEntry(ctx context.Context, e DeliveryEvent) entry {
	class, icon := "plain", ui.IconPending
	switch e.Event {
	case "canceled":
		icon = ui.IconCanceled
	case "enqueue_failed", "compose_failed", "expired":
		class, icon = "failed", ui.IconFailed
	case "retried", "new_key", "hurried":
		icon = ui.IconRetry
	}
	v := entry{At: e.At, Class: class, Icon: icon, Title: text.T(ctx, "deliveries.event."+e.Event)}
	switch {
	case e.Code != "":
		v.Text = CodeReason(ctx, e.Code)
	case e.Admin != "":
		v.Text = text.T(ctx, "deliveries.by", "Admin", e.Admin)
	}
	return v
}

// cost is how many messages of the month's limit the delivery uses when it arrives, 0 if that is not known.
func (d Delivery) cost() int {
	if d.Kind.Notice() {
		return 1
	}
	return d.Group.LINEMemberCount
}

// update reports whether it announces a version that the group saw an earlier one of.
func (d Delivery) update() bool {
	return d.Kind == roster.ShiftPublication && d.Publication.Sheet.Base != nil
}

// held reports whether it would be sent if pushes did not wait.
func (d Delivery) held() bool { return d.State == roster.Queued && len(d.Holds) > 0 }

// subject names what the delivery is about: a publication, or a shift as it is now.
func (d Delivery) subject(ctx context.Context) string {
	if d.Kind.AboutShift() {
		return shiftSubject(ctx, d.Shift.Work(), d.Classroom.Name)
	}
	return publicationTitle(ctx, d.Publication)
}

// shiftSubject names a shift: 1/8(金) 17:00–21:30 駅前教室.
func shiftSubject(ctx context.Context, w roster.Work, classroom string) string {
	return text.ShortDate(ctx, w.Date) + " " + text.Range(ctx, w.Times) + " " + classroom
}

// DeliveryCrumbs is the way to what is asked about a delivery.
func DeliveryCrumbs(ctx context.Context, d Delivery) []ui.Crumb {
	return []ui.Crumb{
		{Label: text.T(ctx, "deliveries.list"), Href: "/deliveries"},
		{Label: d.subject(ctx), Href: DeliveryPath(d.ID)},
		{Label: text.T(ctx, "deliveries.can.retry_uncounted")},
	}
}

// RetryCrumbs is the way to what is asked about all deliveries that failed with a code.
func RetryCrumbs(ctx context.Context, c roster.Code) []ui.Crumb {
	return []ui.Crumb{
		{Label: text.T(ctx, "deliveries.list"), Href: "/deliveries"},
		{Label: text.T(ctx, "deliveries.state.failed"), Href: DeliveryList{Show: Shown(roster.Failed), Code: c}.query()},
		{Label: text.T(ctx, "deliveries.can.retry_uncounted")},
	}
}

// KnownCode reports whether there are words for a code.
func KnownCode(c roster.Code) bool { return slices.Contains(roster.Codes, c) || httpStatus(c) >= 300 }

// DeliveryTitle is the title of a delivery's page.
func DeliveryTitle(ctx context.Context, d roster.Delivery) string {
	return text.T(ctx, "deliveries.title."+string(d.Kind))
}

// Shown is which deliveries one of the list's chips shows: those in a state, or one of these.
type Shown string

// The chips beside those of the states.
const (
	ShownAll     Shown = ""
	ShownUnknown Shown = "unknown" // may have arrived although they are not sent
	ShownDead    Shown = "dead"    // dead letters
)

// ShownChips lists the chips in their order: what somebody must look at first, then what moves, then what is over.
var ShownChips = []Shown{ShownAll, Shown(roster.Failed), Shown(roster.Queued), Shown(roster.Pending), Shown(roster.Processing), ShownUnknown, ShownDead, Shown(roster.Sent), Shown(roster.Canceled)}

// DeliveryList is the list of deliveries with what it was narrowed by.
type DeliveryList struct {
	Rows        []DeliveryLine
	Counts      map[Shown]int       // of unfinished ones
	Reasons     map[roster.Code]int // of the failed ones that a retry could still send
	Show        Shown
	Kind        roster.DeliveryKind
	Month       roster.Month
	Code        roster.Code
	Teacher     string
	Months      []roster.Month // to choose from
	Holds       []Hold         // why pushes wait now
	Before      int64          // the page begins after this id; 0 is the first page
	More        bool           // there are older ones
	Now         time.Time
	Location    *time.Location
	RetryKeyTTL time.Duration // how long LINE knows a retry key
}

// DeliveryLine is one delivery of the list.
type DeliveryLine struct {
	roster.Delivery
	Group     string       // publications
	Month     roster.Month // publications and receipt requests
	Number    int          // publications and receipt requests
	Teacher   string       // notices
	Work      roster.Work  // notices about a shift: as it is now
	Classroom string       // notices about a shift: the shift's
	Messages  int          // what sending it costs, 0 if that is not known
	Attempts  int
	Unknown   bool        // it may have arrived although it is not sent
	Unwanted  roster.Code // failed: why a retry is refused, empty if it is not
}

// query writes the list's address with some of its parts replaced, by name and value; an empty value leaves a part out.
// It begins at the first page unless a part says otherwise.
func (l DeliveryList) query(pairs ...string) string {
	q := url.Values{}
	set := func(name, value string) {
		if value == "" {
			q.Del(name)
		} else {
			q.Set(name, value)
		}
	}
	set("state", string(l.Show))
	set("kind", string(l.Kind))
	set("month", l.monthValue())
	set("code", string(l.Code))
	set("teacher", l.Teacher)
	for i := 0; i+1 < len(pairs); i += 2 {
		set(pairs[i], pairs[i+1])
	}
	if len(q) == 0 {
		return "/deliveries"
	}
	return "/deliveries?" + q.Encode()
}

func (l DeliveryList) monthValue() string {
	if l.Month == (roster.Month{}) {
		return ""
	}
	return l.Month.String()
}

// live reports whether something in the list may still change by itself.
func (l DeliveryList) live() bool {
	return slices.ContainsFunc(l.Rows, func(r DeliveryLine) bool { return r.State.Live() })
}

// Seen tells one look of the list from another.
func (l DeliveryList) Seen() string {
	var newest time.Time
	for _, r := range l.Rows {
		if r.UpdatedAt.After(newest) {
			newest = r.UpdatedAt
		}
	}
	first := int64(0)
	if len(l.Rows) > 0 {
		first = l.Rows[0].ID
	}
	seen := fmt.Sprintf("%d-%d-%d-%s", newest.UnixMilli(), first, len(l.Rows), seenHolds(l.Holds))
	for _, chip := range ShownChips {
		seen += "-" + strconv.Itoa(l.Counts[chip])
	}
	return seen
}

// narrowed reports whether anything narrows the list.
func (l DeliveryList) narrowed() bool {
	return l.Show != ShownAll || l.Kind != "" || l.Month != (roster.Month{}) || l.Code != "" || l.Teacher != ""
}

// chipMark is the mark and the word of a chip.
func chipMark(ctx context.Context, s Shown) (ui.IconName, string) {
	switch s {
	case ShownUnknown:
		return ui.IconUnknown, text.T(ctx, "deliveries.state.unknown")
	case ShownDead:
		return ui.IconFailed, text.T(ctx, "deliveries.state.dead")
	}
	m := deliveryMark(ctx, roster.Delivery{State: roster.DeliveryState(s)})
	return m.Icon, m.Word
}

// reasons lists why deliveries failed that a retry could still send, the most frequent first. A list that is narrowed
// to one reason names that alone, and one that does not show failed deliveries none.
func (l DeliveryList) reasons() []roster.Code {
	if l.Show != Shown(roster.Failed) && l.Show != ShownDead {
		return nil
	}
	var codes []roster.Code
	for c, n := range l.Reasons {
		if n > 0 && (l.Code == "" || l.Code == c) {
			codes = append(codes, c)
		}
	}
	slices.SortFunc(codes, func(a, b roster.Code) int {
		return cmp.Or(cmp.Compare(l.Reasons[b], l.Reasons[a]), cmp.Compare(a, b))
	})
	return codes
}

func (l DeliveryList) kindOptions(ctx context.Context) []ui.Option {
	var options []ui.Option
	for _, k := range roster.DeliveryKinds {
		options = append(options, ui.Option{Value: string(k), Label: text.T(ctx, "deliveries.kind."+string(k))})
	}
	return options
}

func (l DeliveryList) monthOptions(ctx context.Context) []ui.Option {
	var options []ui.Option
	for _, m := range l.Months {
		options = append(options, ui.Option{Value: m.String(), Label: text.Month(ctx, m)})
	}
	return options
}

// codeOptions are the reasons to choose from: the ones LINE gives most, and all of ours.
func (l DeliveryList) codeOptions(ctx context.Context) []ui.Option {
	codes := []roster.Code{"HTTP_400", "HTTP_401", "HTTP_403", "HTTP_409", "HTTP_429", "HTTP_500", "HTTP_502", "HTTP_503", "HTTP_504"}
	codes = append(codes, roster.Codes...)
	if l.Code != "" && !slices.Contains(codes, l.Code) {
		codes = append(codes, l.Code)
	}
	var options []ui.Option
	for _, c := range codes {
		options = append(options, ui.Option{Value: string(c), Label: CodeReason(ctx, c)})
	}
	return options
}

// reason is the second line of a row: why it is in its state, and what comes next.
func (l DeliveryList) reason(ctx context.Context, r DeliveryLine) string {
	words := ""
	if r.Code != "" {
		words = CodeReason(ctx, r.Code)
	}
	switch {
	case r.State == roster.Failed && r.Unwanted != "":
		words += RetryRefusal(ctx, r.Unwanted)
	case r.Unknown && !r.State.Live() && !unsure(r.Code):
		words += text.T(ctx, "deliveries.may_have_arrived")
	case r.State == roster.Sent && r.Attempts > 1:
		words = text.T(ctx, "deliveries.sent_at_try", "Number", r.Attempts)
	}
	if (r.State == roster.Pending || r.State == roster.Queued && retries(r.Delivery)) && !r.NextAttemptAt.IsZero() {
		words += text.T(ctx, "deliveries.next_at", "Time", shortMoment(ctx, r.NextAttemptAt, l.Now, l.Location))
	}
	return words
}

// to names a row's destination.
func (r DeliveryLine) to() string {
	if r.Kind.Notice() {
		return r.Teacher
	}
	return r.Group
}

// subject names what a row is about.
func (r DeliveryLine) subject(ctx context.Context) string {
	if r.Kind.AboutShift() {
		return shiftSubject(ctx, r.Work, r.Classroom)
	}
	return text.T(ctx, "publications.name", "Month", text.Month(ctx, r.Month), "Number", r.Number)
}

// sentAt is when a row was sent or first tried; empty if it was not.
func (l DeliveryList) sentAt(ctx context.Context, r DeliveryLine) string {
	t := r.FirstTryAt
	if r.State == roster.Sent {
		t = r.FinishedAt
	}
	if t.IsZero() {
		return "—"
	}
	if on := roster.DateOf(t, l.Location); on != roster.DateOf(l.Now, l.Location) {
		return text.ShortDate(ctx, on) + " " + text.Clock(t, l.Location)
	}
	return text.T(ctx, "deliveries.today", "Time", text.Clock(t, l.Location))
}

// pager leads through the list by the id a page ends with.
func (l DeliveryList) pager(ctx context.Context) ui.PagerProps {
	p := ui.PagerProps{Label: text.T(ctx, "deliveries.pages"), PreviousText: text.T(ctx, "deliveries.newest"), NextText: text.T(ctx, "deliveries.older")}
	if l.Before != 0 {
		p.PreviousHref = l.query()
	}
	if l.More {
		p.NextHref = l.query("before", itoa(l.Rows[len(l.Rows)-1].ID))
	}
	return p
}

// retryable reports whether a row can be sent again.
func (r DeliveryLine) retryable() bool { return r.State == roster.Failed && r.Unwanted == "" }

// asksFirst reports whether a row's retry could post a second time, so that a person must be asked.
func (l DeliveryList) asksFirst(r DeliveryLine) bool {
	return r.Unknown && roster.KeyExpired(l.Now, r.KeyFirstTryAt, l.RetryKeyTTL)
}
