package views

import (
	"context"
	"slices"
	"strconv"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// RetriesPath is where a delivery's retries are made.
func RetriesPath(deliveryID int64) string { return DeliveryPath(deliveryID) + "/retries" }

// NewRetriesPath is the address of the page that asks before all deliveries that failed with a code are retried.
func NewRetriesPath(code roster.Code) string { return "/retries/new?code=" + string(code) }

// action is one thing an admin can do with a delivery, or why they cannot. Without an address it cannot be done.
type action struct {
	ID      string // of the button, so that the focus stays on it when the page follows
	Label   string
	Kind    ui.Kind
	Icon    ui.IconName
	Href    string // of a page that it leads to
	Opens   string // the dialog with the same question as that page
	Post    string // where pressing it is sent
	Method  string // the verb if it is not POST
	Working string
	Notes   []string // what it means, or why it cannot be done, a paragraph each
}

// RetryRefusal says why a delivery is not retried.
func RetryRefusal(ctx context.Context, c roster.Code) string {
	return text.T(ctx, "deliveries.refused."+string(c))
}

// retryLabel names the retry and what it costs.
func retryLabel(ctx context.Context, messages int) string {
	if messages == 0 {
		return text.T(ctx, "deliveries.can.retry_uncounted")
	}
	return text.N(ctx, "deliveries.can.retry", messages)
}

// actions lists what can be done now, the most likely first.
func (d Delivery) actions(ctx context.Context) []action {
	cancel := action{ID: "call-off", Label: text.T(ctx, "deliveries.can.cancel"), Kind: ui.Danger, Post: DeliveryPath(d.ID), Method: "DELETE",
		Working: text.T(ctx, "deliveries.can.canceling"), Notes: d.cancelNotes(ctx)}
	switch d.State {
	case roster.Pending:
		return []action{
			{Label: text.T(ctx, "deliveries.can.hurry_first"), Icon: ui.IconSend, Notes: []string{text.T(ctx, "deliveries.can.hurry_pending", "Time", d.moment(ctx, d.NextAttemptAt))}},
			cancel,
		}
	case roster.Queued:
		return []action{d.hurry(ctx), cancel}
	case roster.Processing:
		cancel.Post, cancel.Notes = "", []string{text.T(ctx, "deliveries.can.cancel_processing")}
		return []action{cancel}
	case roster.Failed:
		return d.retry(ctx)
	case roster.Sent:
		if d.Kind.AboutShift() {
			return nil
		}
		return []action{
			{Label: text.T(ctx, "deliveries.can.receipts"), Icon: ui.IconEye, Href: ReceiptsPath(d.Publication.ID)},
			{Label: text.T(ctx, "deliveries.can.publication"), Href: PublicationPath(d.Publication.ID)},
		}
	}
	if d.Kind.AboutShift() {
		return nil
	}
	return []action{{Label: text.T(ctx, "deliveries.can.publication"), Href: PublicationPath(d.Publication.ID)}}
}

// actionsNote says what cannot be done at all.
func (d Delivery) actionsNote(ctx context.Context) string {
	switch {
	case d.State == roster.Sent && d.Kind == roster.ReceiptRequest:
		return text.T(ctx, "deliveries.can.sent_request")
	case d.State == roster.Sent && d.Kind.Notice():
		return text.T(ctx, "deliveries.can.sent_notice")
	case d.State == roster.Sent:
		return text.T(ctx, "deliveries.can.sent_publication")
	case d.State == roster.Canceled && d.Kind.Notice():
		return text.T(ctx, "deliveries.can.canceled_notice")
	case d.State == roster.Canceled:
		return text.T(ctx, "deliveries.can.canceled_publication")
	}
	return ""
}

// hurry is the way to send a waiting delivery now.
func (d Delivery) hurry(ctx context.Context) action {
	a := action{ID: "hurry", Label: text.T(ctx, "deliveries.can.hurry_first"), Icon: ui.IconSend, Post: DeliveryPath(d.ID) + "/wait", Method: "DELETE", Working: text.T(ctx, "deliveries.can.hurrying")}
	if retries(d.Delivery) {
		a.Label, a.Icon = text.T(ctx, "deliveries.can.hurry"), ui.IconRetry
	}
	switch {
	case d.held():
		a.Notes = []string{text.T(ctx, "deliveries.can.hurry_held")}
	case d.waiting() == 0:
		a.Post, a.Notes = "", []string{text.T(ctx, "deliveries.can.hurry_due")}
	}
	return a
}

// cancelNotes say what calling a waiting delivery off does and does not do.
func (d Delivery) cancelNotes(ctx context.Context) []string {
	switch {
	case d.MayHaveArrived && d.Kind.Notice():
		return []string{text.T(ctx, "deliveries.can.cancel_arrived_notice")}
	case d.MayHaveArrived:
		return []string{text.T(ctx, "deliveries.can.cancel_arrived", "Number", d.lastUnsure())}
	case d.Revives != 0:
		return []string{text.T(ctx, "deliveries.can.cancel_revives", "Number", d.Revives)}
	}
	return nil
}

// lastUnsure is the number of the newest try that may have arrived.
func (d Delivery) lastUnsure() int {
	for _, a := range d.Attempts {
		if a.Outcome != roster.Accepted && a.Outcome != roster.Refused {
			return a.Number
		}
	}
	return 0
}

// newKey reports whether a retry would need a new retry key, because LINE no longer knows the present one.
func (d Delivery) newKey() bool { return roster.KeyExpired(d.Now, d.KeyFirstTryAt, d.RetryKeyTTL) }

// AsksFirst reports whether a retry could post a second time, so that a person must be asked.
func (d Delivery) AsksFirst() bool {
	return d.State == roster.Failed && d.Unwanted == "" && d.newKey() && d.MayHaveArrived
}

// retry is the way to send a failed delivery again.
func (d Delivery) retry(ctx context.Context) []action {
	a := action{ID: "retry", Label: retryLabel(ctx, d.cost()), Kind: ui.Primary, Icon: ui.IconRetry, Post: RetriesPath(d.ID), Working: text.T(ctx, "deliveries.can.retrying")}
	switch {
	case d.Unwanted != "":
		a.Kind, a.Label, a.Post, a.Notes = ui.Plain, text.T(ctx, "deliveries.can.retry_uncounted"), "", []string{RetryRefusal(ctx, d.Unwanted)}
		if d.Kind.AboutShift() {
			return []action{a}
		}
		return []action{a, {Label: text.T(ctx, "deliveries.can.publication"), Href: PublicationPath(d.Publication.ID)}}
	case d.AsksFirst():
		a.Post, a.Href, a.Opens = "", RetriesPath(d.ID)+"/new", "new-key"
		a.Notes = append(a.Notes, text.T(ctx, "deliveries.can.retry_asks"))
	case d.newKey():
		a.Notes = append(a.Notes, text.T(ctx, "deliveries.can.retry_new_key"))
	case d.MayHaveArrived:
		a.Notes = append(a.Notes, text.T(ctx, "deliveries.can.retry_same_key"))
	}
	switch {
	case slices.ContainsFunc(d.Holds, func(h Hold) bool { return h.EndsByProof() }):
		a.Notes = append(a.Notes, text.T(ctx, "deliveries.can.retry_held_proof"))
	case len(d.Holds) > 0:
		a.Notes = append(a.Notes, text.T(ctx, "deliveries.can.retry_held"))
	}
	return []action{a}
}

// NewKeyQuestion asks before a delivery that may have arrived is sent with a new retry key.
func NewKeyQuestion(ctx context.Context, d Delivery) Question {
	q := Question{ID: "new-key", Title: text.T(ctx, "retries.new_key"), Action: RetriesPath(d.ID), Fields: []HiddenField{{"confirmed", "true"}},
		Yes: text.T(ctx, "retries.new_key_uncounted"), Working: text.T(ctx, "deliveries.can.retrying"), Danger: true, No: text.T(ctx, "retries.no"), Back: DeliveryPath(d.ID)}
	for _, a := range d.Attempts {
		if a.Number == d.lastUnsure() {
			q.Lead = []string{text.T(ctx, "retries.new_key_lead"), text.T(ctx, "retries.maybe_at", "Moment", text.Moment(ctx, a.StartedAt, d.Location))}
		}
	}
	q.Facts = append(q.Facts, text.T(ctx, "retries.twice"))
	if n := d.cost(); n > 0 {
		q.Yes = text.N(ctx, "retries.new_key_yes", n)
		q.Facts = append(q.Facts, costFacts(ctx, d.Quota, n)...)
	}
	return q
}

// RetryPlan is what retrying every failed delivery of one code would do.
type RetryPlan struct {
	Code       roster.Code
	Deliveries int
	Messages   int
	Unsure     int  // left out: they may have arrived and would need a new key
	Unwanted   int  // left out: they are no longer true or wanted
	Changed    bool // it is not what the admin was shown when they pressed
	Quota      roster.Quota
}

// RetryQuestion asks before all failed deliveries of one code are retried.
func RetryQuestion(ctx context.Context, p RetryPlan) Question {
	q := Question{
		Title: text.N(ctx, "retries.title", p.Deliveries), Lead: []string{CodeReason(ctx, p.Code)}, Action: "/retries", Working: text.T(ctx, "deliveries.can.retrying"),
		No: text.T(ctx, "retries.no"), Back: DeliveryList{Show: Shown(roster.Failed), Code: p.Code}.query(),
		Fields: []HiddenField{{"code", string(p.Code)}, {"deliveries", strconv.Itoa(p.Deliveries)}, {"messages", strconv.Itoa(p.Messages)}},
	}
	if p.Changed {
		q.Warning = text.T(ctx, "retries.changed")
	}
	if p.Deliveries > 0 {
		q.Yes = text.N(ctx, "retries.yes", p.Deliveries, "Messages", text.N(ctx, "publications.messages", p.Messages))
		q.Facts = append(q.Facts, costFacts(ctx, p.Quota, p.Messages)...)
		if unsure(p.Code) {
			q.Facts = append(q.Facts, text.T(ctx, "retries.safe"))
		}
	} else {
		q.Title = text.T(ctx, "retries.nothing")
		q.No = text.T(ctx, "retries.back")
	}
	if p.Unsure > 0 {
		q.Facts = append(q.Facts, text.N(ctx, "retries.unsure", p.Unsure))
	}
	if p.Unwanted > 0 {
		q.Facts = append(q.Facts, text.N(ctx, "retries.unwanted", p.Unwanted))
	}
	return q
}
