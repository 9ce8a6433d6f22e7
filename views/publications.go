package views

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// PublicationPath is the address of a publication.
func PublicationPath(id int64) string { return "/publications/" + itoa(id) }

// GroupPublicationsPath is the address of the list of a group's publications.
func GroupPublicationsPath(groupID int64) string { return "/groups/" + itoa(groupID) + "/publications" }

// Picture is one page of a sheet as a picture that can be looked at.
type Picture struct {
	roster.Image
	URL string
}

// Publish is a month as it would be published now.
type Publish struct {
	Group     roster.Group
	Month     roster.Month
	Today     roster.Date
	Location  *time.Location
	Sheet     roster.Sheet
	Newest    *roster.Publication // nil if the month was never published
	Waiting   *roster.Delivery    // of an older publication of the month, which this one calls off; nil if none waits
	Drafts    []DraftLine         // not included
	NotLinked []roster.Teacher    // in the sheet, but without LINE
	Members   *Members            // of the LINE group; nil while nobody asked or there is none
	Pictures  []Picture           // empty while they are not drawn
	PageCount int                 // how many there are or will be
	Changed   bool                // it is not what the admin saw when they pressed
	Failure   *RenderFailure      // why the pictures cannot be shown; nil if nothing failed
	Quota     roster.Quota        // of the channel
	NotKept   bool                // records of what was sent for the month may have been erased
	Refused   bool                // nobody said to send although the month's messages become too few
}

// publishForm is the id of the form that publishes.
const publishForm = "publish-form"

// quotaUse is what announcing the publication does to the month's limit.
func (p Publish) quotaUse(ctx context.Context) QuotaUse {
	u := QuotaUse{Quota: p.Quota, Messages: p.messages(), Form: publishForm}
	if p.Refused {
		u.Error = text.T(ctx, "quota.refused")
	}
	return u
}

// DraftLine is a draft with the names it is shown under.
type DraftLine struct {
	Shift     roster.Shift
	Teacher   string
	Classroom string
}

// RenderFailure says why there is no picture. Key names its sentences in the catalog below "publications.render.".
type RenderFailure struct {
	Key       string
	RequestID string
}

// Path is the address of the page.
func (p Publish) Path() string { return MonthPath(p.Group.ID, p.Month) + "/publications/new" }

// version is 第3版 or 第3版（更新）.
func (p Publish) version(ctx context.Context) string { return SheetVersion(ctx, p.Sheet) }

// SheetVersion names a sheet: 第3版, and if the group saw an earlier one 第3版（更新）.
func SheetVersion(ctx context.Context, s roster.Sheet) string {
	if s.Base != nil {
		return text.T(ctx, "publications.version_update", "Number", s.Number)
	}
	return text.T(ctx, "publications.version", "Number", s.Number)
}

// messages is how many messages the announcement costs: one for each member of the group, 0 if that is not known or
// nothing is sent.
func (p Publish) messages() int {
	if !p.Group.Linked() {
		return 0
	}
	return p.Group.LINEMemberCount
}

// button is what the button that publishes says: the version and how many messages go out.
func (p Publish) button(ctx context.Context) string {
	switch {
	case !p.Group.Linked():
		return text.T(ctx, "publications.publish_silently", "Number", p.Sheet.Number)
	case p.messages() == 0:
		return text.T(ctx, "publications.publish_uncounted", "Number", p.Sheet.Number)
	}
	return text.N(ctx, "publications.publish", p.messages(), "Number", p.Sheet.Number)
}

// summary is what the bar at the bottom says about pressing the button.
func (p Publish) summary(ctx context.Context) string {
	if p.messages() == 0 {
		return p.version(ctx)
	}
	return text.N(ctx, "publications.summary", p.messages(), "Version", p.version(ctx))
}

// firstTitle heads what is published when nothing is known that it could be compared with.
func (p Publish) firstTitle(ctx context.Context) string {
	if p.Newest != nil && p.NotKept {
		return text.T(ctx, "publications.contents_label")
	}
	return text.T(ctx, "publications.first")
}

// notCompared says why no change is marked although the month was published before.
func (p Publish) notCompared(ctx context.Context) string {
	key := "publications.first_again"
	if p.NotKept {
		key = "publications.first_untraced"
	}
	return text.T(ctx, key, "Number", p.Newest.Number)
}

// changeCounts counts changes by kind: 追加2 変更2 取消1.
func changeCounts(ctx context.Context, changes []roster.Change) string {
	var parts []string
	for _, k := range []roster.ChangeKind{roster.ChangeAdded, roster.ChangeMoved, roster.ChangeRemoved} {
		n := 0
		for _, c := range changes {
			if c.Kind == k {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, text.T(ctx, "publications.count_of", "Kind", text.T(ctx, "months.change."+string(k)), "Count", n))
		}
	}
	return strings.Join(parts, text.T(ctx, "publications.count_comma"))
}

// since says from which publication changes are counted, and how many of each kind there are.
func since(ctx context.Context, s roster.Sheet) string {
	key := "publications.since"
	if !s.Base.Certain {
		key = "publications.since_uncertain"
	}
	return text.T(ctx, key, "Number", s.Base.Number, "Counts", changeCounts(ctx, s.Changes))
}

// changePlace writes one side of a change: its times, and the classroom when that changed or several are meant.
func changePlace(ctx context.Context, p *roster.Place, c roster.Change) string {
	if p == nil {
		return text.T(ctx, "months.none")
	}
	if c.Kind == roster.ChangeMoved && c.SamePlace {
		return text.Range(ctx, p.Times)
	}
	return text.Range(ctx, p.Times) + " " + p.Classroom.Name
}

// names lists names with 〜さん, the ones after the third as a number: 渡邊 翔さん、吉田 真理さん.
func names(ctx context.Context, teachers []roster.Teacher) string {
	var list []string
	for _, t := range teachers[:min(len(teachers), 3)] {
		list = append(list, text.T(ctx, "publications.person", "Name", t.Name))
	}
	words := strings.Join(list, text.T(ctx, "months.comma"))
	if more := len(teachers) - len(list); more > 0 {
		words += text.N(ctx, "publications.more_people", more)
	}
	return words
}

// draftList names the first drafts: 1/26(火) 山田 太郎、1/29(金) 加藤 誠.
func draftList(ctx context.Context, drafts []DraftLine) string {
	var list []string
	for _, d := range drafts[:min(len(drafts), 3)] {
		list = append(list, text.ShortDate(ctx, d.Shift.Date)+" "+d.Teacher)
	}
	words := strings.Join(list, text.T(ctx, "months.comma"))
	if more := len(drafts) - len(list); more > 0 {
		words += text.N(ctx, "publications.more_drafts", more)
	}
	return words
}

// CannotPublish is why a month cannot be published now.
type CannotPublish struct {
	Group    roster.Group
	Month    roster.Month
	Newest   *roster.Publication // shows the same; nil if there is nothing to publish
	Delivery *roster.Delivery    // the newest of it, nil if there is none
	Resend   *Resend             // what sending it again would do, nil if there is nothing to publish
	Drafts   int
}

// Published is a publication as its page shows it.
type Published struct {
	Publication roster.Publication
	Group       roster.Group
	By          string // name of the admin, empty if nobody is known
	Pictures    []Picture
	Receipts    Receipts
	Deliveries  []roster.Delivery // the newest first
	NotKept     bool              // records of more may have been erased
	Newer       *roster.Publication
	Resend      Resend
	Refusal     string // why what an admin just wanted was not done, as a whole sentence; empty if it was
	Location    *time.Location
}

// Seen tells one look of how the publication was sent from another.
func (p Published) Seen() string {
	seen := ""
	for _, d := range p.Deliveries {
		seen += fmt.Sprintf("%d-%d-", d.ID, d.UpdatedAt.UnixMilli())
	}
	return seen
}

// noDeliveries says what it means that there is no delivery.
func (p Published) noDeliveries(ctx context.Context) string {
	if p.NotKept {
		return text.T(ctx, "publications.not_kept")
	}
	return text.T(ctx, "publications.not_announced")
}

// live reports whether a delivery of it may still change by itself.
func (p Published) live() bool {
	return slices.ContainsFunc(p.Deliveries, func(d roster.Delivery) bool { return d.State.Live() })
}

// Resend is what sending a publication again would do, or why it cannot be done.
type Resend struct {
	Publication    roster.Publication
	LastDeliveryID int64            // the newest delivery of the group's month, which the form sends back
	Messages       int              // what it costs, 0 if that is not known
	First          bool             // it was never announced
	Arrived        roster.Certainty // an earlier one was sent, or may have been; empty if neither
	ArrivedAt      time.Time        // zero if no record of it is left
	LiveID         int64            // the delivery of the month that is on its way, 0 if none is
	FailedID       int64            // the delivery of it that failed and can be retried with its own key, 0 if none
	Refusal        roster.Code      // why it is not wanted; empty if it is
	Quota          roster.Quota
	Location       *time.Location
}

// ResendRefusal says why a publication is not sent again.
func ResendRefusal(ctx context.Context, c roster.Code) string {
	return text.T(ctx, "publications.resend.refused."+string(c))
}

// AsksFirst reports whether it arrived, or may have, so that a person must be asked.
func (r Resend) AsksFirst() bool { return r.possible() && r.Arrived != "" }

// untraced reports whether an earlier one may have been sent of which no record is left.
func (r Resend) untraced() bool { return r.Arrived != "" && r.ArrivedAt.IsZero() }

// possible reports whether it can be sent now.
func (r Resend) possible() bool { return r.Refusal == "" && r.LiveID == 0 }

// PublicationCrumbs is the way to what is done with a publication.
func PublicationCrumbs(ctx context.Context, p roster.Publication, what string) []ui.Crumb {
	return []ui.Crumb{
		{Label: text.T(ctx, "publications.list"), Href: GroupPublicationsPath(p.GroupID)},
		{Label: publicationTitle(ctx, p), Href: PublicationPath(p.ID)},
		{Label: what},
	}
}

// NewDeliveryPath is the address of the page that asks before a publication is sent again.
func NewDeliveryPath(publicationID int64) string {
	return PublicationPath(publicationID) + "/deliveries/new"
}

// button names what is sent and what it costs.
func (r Resend) button(ctx context.Context) string {
	switch {
	case r.First && r.Messages > 0:
		return text.N(ctx, "publications.resend.first", r.Messages)
	case r.First:
		return text.T(ctx, "publications.resend.first_uncounted")
	case r.Messages > 0:
		return text.N(ctx, "publications.resend.again", r.Messages)
	}
	return text.T(ctx, "publications.resend.again_uncounted")
}

// why says why it cannot be sent now, empty if it can.
func (r Resend) why(ctx context.Context) string {
	switch {
	case r.Refusal != "":
		return ResendRefusal(ctx, r.Refusal)
	case r.LiveID != 0:
		return text.T(ctx, "publications.resend.live")
	}
	return ""
}

// note says what it means.
func (r Resend) note(ctx context.Context) string {
	switch {
	case r.First:
		return text.T(ctx, "publications.resend.first_note")
	case r.untraced():
		return text.T(ctx, "publications.resend.untraced_note")
	case r.Arrived == roster.Maybe:
		return text.T(ctx, "publications.resend.maybe_note")
	case r.Arrived != "":
		return text.T(ctx, "publications.resend.arrived_note")
	}
	return ""
}

// fields are what its form sends along.
func (r Resend) fields() []HiddenField {
	return []HiddenField{{"last_delivery", itoa(r.LastDeliveryID)}}
}

// ResendQuestion asks before a publication that arrived, or may have, is sent again.
func ResendQuestion(ctx context.Context, r Resend) Question {
	q := Question{
		ID: "resend", Title: text.T(ctx, "publications.resend.question", "Number", r.Publication.Number), Action: PublicationPath(r.Publication.ID) + "/deliveries",
		Fields: append(r.fields(), HiddenField{"confirmed", "true"}), Yes: text.T(ctx, "publications.resend.yes_uncounted"), Working: text.T(ctx, "publications.resend.sending"),
		Danger: true, No: text.T(ctx, "retries.no"), Back: PublicationPath(r.Publication.ID),
	}
	key := "publications.resend.sent_at"
	if r.Arrived == roster.Maybe {
		key = "retries.maybe_at"
	}
	q.Lead = []string{text.T(ctx, key, "Moment", text.Moment(ctx, r.ArrivedAt, r.Location))}
	q.Facts = []string{text.T(ctx, "publications.resend.twice")}
	if r.untraced() {
		q.Lead = []string{text.T(ctx, "publications.resend.untraced")}
		q.Facts = []string{text.T(ctx, "retries.twice")}
	}
	if r.Messages > 0 {
		q.Yes = text.N(ctx, "publications.resend.yes", r.Messages)
		q.Facts = append(q.Facts, costFacts(ctx, r.Quota, r.Messages)...)
	}
	return q
}

// PublicationList is a group's publications by month.
type PublicationList struct {
	Group    roster.Group
	Today    roster.Date
	Location *time.Location
	Months   []PublishedMonth // the latest first; past ones only if they were published
	Older    roster.Month     // the newest month of the page with older ones; zero if there is none
	Newer    bool             // this is not the first page
}

// PublishedMonth is one month of the list.
type PublishedMonth struct {
	Month        roster.Month
	Publications []PublishedVersion // the newest first; none if it was never published
	NotKept      bool               // records of what was sent for it may have been erased
}

// noDelivery says in two words that a publication of the month has no delivery.
func (m PublishedMonth) noDelivery(ctx context.Context) string {
	if m.NotKept {
		return text.T(ctx, "publications.not_kept_short")
	}
	return text.T(ctx, "publications.not_sent_short")
}

// PublishedVersion is one publication of the list.
type PublishedVersion struct {
	Publication roster.Publication
	Delivery    *roster.Delivery // its newest, nil if there is none
}

// pictureTitle names a picture among the others: 1/2 駅前教室.
func pictureTitle(ctx context.Context, i int, all []Picture) string {
	if len(all) == 1 {
		return all[0].Title
	}
	return fmt.Sprintf("%d/%d %s", i+1, len(all), all[i].Title)
}

// publicationTitle names a publication: 2027年1月 第3版.
func publicationTitle(ctx context.Context, p roster.Publication) string {
	return text.T(ctx, "publications.name", "Month", text.Month(ctx, p.Month), "Number", p.Number)
}

// PublicationTitle is the title of a publication's page.
func PublicationTitle(ctx context.Context, p roster.Publication) string {
	return publicationTitle(ctx, p)
}

// lineGroup names the LINE group that a group announces to, and how many members it has as far as known.
func lineGroup(ctx context.Context, g roster.Group) string {
	if g.LINEMemberCount == 0 {
		return text.T(ctx, "publications.line_group", "Name", g.LINEGroupName)
	}
	return text.N(ctx, "publications.line_group_members", g.LINEMemberCount, "Name", g.LINEGroupName)
}

// publishNote is the second line of the bar at the bottom.
func publishNote(ctx context.Context, p Publish) string {
	switch {
	case p.Failure != nil:
		return text.T(ctx, "publications.no_picture")
	case len(p.Pictures) == 0:
		return text.T(ctx, "publications.wait_for_picture")
	case !p.Group.Linked():
		return text.T(ctx, "publications.not_connected")
	}
	return text.T(ctx, "publications.at_once")
}

// pagerOf leads to older months, and back to the newest ones.
func pagerOf(ctx context.Context, l PublicationList) ui.PagerProps {
	p := ui.PagerProps{Label: text.T(ctx, "publications.pages"), PreviousText: text.T(ctx, "publications.newest_months"), NextText: text.T(ctx, "publications.older_months")}
	if l.Newer {
		p.PreviousHref = GroupPublicationsPath(l.Group.ID)
	}
	if l.Older != (roster.Month{}) {
		p.NextHref = GroupPublicationsPath(l.Group.ID) + "?until=" + l.Older.String()
	}
	return p
}

// isoTime is an instant as a time element takes it.
func isoTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
