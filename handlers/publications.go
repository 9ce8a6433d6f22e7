package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/sheet"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// newPublication shows what publishing a month would send. Drawing the pictures, and asking LINE who is in the group, can
// take seconds, so the page comes at once without them and asks for itself again by htmx, which waits for them; so does
// ?wait for who has no script.
func (s *Site) newPublication(c echo.Context) error {
	g, m, err := s.month(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := s.store.Preview(ctx, g.ID, m)
	if err != nil {
		return err
	}
	if p.Empty() || p.Unchanged {
		return s.showCannotPublish(c, http.StatusOK, p)
	}
	waits := wantsFragment(c.Request()) || c.QueryParams().Has("wait")
	if !waits && (!s.stored(p.Pages) || !s.membersAtHand(p.Group)) {
		p.Pages = nil
		return s.showPublish(c, http.StatusOK, p, publishNotes{})
	}
	p.Pages, err = s.draw(ctx, p.Sheet)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.Set(loggedError, err)
		return s.showPublish(c, http.StatusServiceUnavailable, p, publishNotes{failure: renderFailure(err)})
	}
	return s.showPublish(c, http.StatusOK, p, publishNotes{})
}

// publishNotes is what a publish page says beside what it shows.
type publishNotes struct {
	changed bool   // it is not what the admin saw when they pressed
	failure string // why there are no pictures
	refused bool   // nobody said to send although the month's messages become too few
}

func (s *Site) showPublish(c echo.Context, status int, p db.Preview, notes publishNotes) error {
	ctx := c.Request().Context()
	v := views.Publish{
		Group: p.Group, Month: p.Month, Today: s.today(), Location: s.loc, Sheet: p.Sheet, Newest: p.Newest, NotLinked: p.NotLinked,
		Pictures: previewPictures(p.Sheet.Hash(), p.Pages), PageCount: len(p.Pages), Changed: notes.changed, Refused: notes.refused,
	}
	var err error
	if v.Quota, err = s.store.Quota(ctx); err != nil {
		return err
	}
	if v.NotKept, err = s.mayLackRecords(ctx, p.Month); err != nil {
		return err
	}
	for _, d := range p.Drafts {
		v.Drafts = append(v.Drafts, views.DraftLine{Shift: d.Shift, Teacher: d.Teacher, Classroom: d.Classroom})
	}
	if notes.failure != "" {
		v.Failure = &views.RenderFailure{Key: notes.failure, RequestID: requestID(c)}
		v.Pictures = nil
	}
	if len(v.Pictures) > 0 {
		if v.Members, err = s.members(ctx, &v.Group, inSheet(p.Sheet)); err != nil {
			return err
		}
	}
	if v.PageCount == 0 {
		grids, err := sheet.PageGrids(p.Sheet)
		if err != nil {
			return err
		}
		v.PageCount = len(grids)
	}
	if p.Newest != nil {
		newest, err := s.newestDelivery(ctx, p.Newest.ID)
		if err != nil {
			return err
		}
		if newest != nil && newest.State.Live() {
			v.Waiting = newest
		}
	}
	if notes.failure != "" {
		// htmx shows an error above the page; this one belongs into its place.
		c.Response().Header().Set("HX-Retarget", "#publish")
		c.Response().Header().Set("HX-Reswap", "innerHTML")
	}
	return s.render(c, screen{
		status:   status,
		page:     views.Page{Title: text.T(ctx, "publications.title", "Month", text.MonthAlone(ctx, p.Month)), Place: views.PlacePublish, Month: p.Month, Styles: []string{"publication.css", "quota.css"}, Invalid: notes.refused},
		body:     views.PublishPage(v),
		fragment: views.PublishContent(v),
	})
}

// inSheet lists the teachers of a sheet.
func inSheet(x roster.Sheet) (ids []int64) {
	for _, t := range x.Snapshot.Teachers {
		ids = append(ids, t.ID)
	}
	return ids
}

// showCannotPublish says why a month cannot be published now.
func (s *Site) showCannotPublish(c echo.Context, status int, p db.Preview) error {
	ctx := c.Request().Context()
	v := views.CannotPublish{Group: p.Group, Month: p.Month, Drafts: len(p.Drafts)}
	if p.Unchanged {
		v.Newest = p.Newest
		var err error
		if v.Delivery, err = s.newestDelivery(ctx, p.Newest.ID); err != nil {
			return err
		}
		again, err := s.resend(ctx, p.Group, *p.Newest, v.Delivery)
		if err != nil {
			return err
		}
		v.Resend = &again
	}
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: text.T(ctx, "publications.title", "Month", text.MonthAlone(ctx, p.Month)), Place: views.PlacePublish, Month: p.Month, Styles: []string{"delivery.css"}},
		body:   views.CannotPublishPage(v),
	})
}

// newestDelivery returns the newest delivery of a publication, nil if it has none.
func (s *Site) newestDelivery(ctx context.Context, publicationID int64) (*roster.Delivery, error) {
	all, err := s.store.PublicationDeliveries(ctx, publicationID)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// mayLackRecords reports whether records of what was sent for a month may have been erased.
func (s *Site) mayLackRecords(ctx context.Context, m roster.Month) (bool, error) {
	kept, err := s.store.Retention(ctx)
	return kept.MayLack(m, s.today()), err
}

// createPublication publishes a month as it was shown, and leads to the delivery that tells the group.
func (s *Site) createPublication(c echo.Context) error {
	g, m, err := s.month(c)
	if err != nil {
		return err
	}
	f, err := readForm(c)
	if err != nil {
		return err
	}
	admin, _ := auth.Admin(f.ctx)
	shown := f.text("sheet_hash")
	pages, err := s.store.PreviewPages(f.ctx, shown)
	if err != nil {
		return err
	}
	if !s.stored(pages) {
		// What cannot be looked at must not be announced: the pictures are gone or changed since they were drawn.
		return s.showNotPublished(c, g.ID, m, shown)
	}
	if over, err := s.overQuota(f.ctx, g); err != nil {
		return err
	} else if over && !f.checked(views.QuotaField) {
		return s.askOverQuota(c, g.ID, m, shown)
	}
	published, err := s.store.Publish(f.ctx, db.PublishInput{GroupID: g.ID, Month: m, SheetHash: shown, AdminID: admin.ID})
	switch {
	case err == nil:
	case errors.Is(err, db.ErrSheetChanged), errors.Is(err, db.ErrSheetNotRendered), errors.Is(err, db.ErrUnchanged), errors.Is(err, db.ErrNothingToPublish):
		return s.showNotPublished(c, g.ID, m, shown)
	default:
		return err
	}
	if published.DeliveryID == 0 {
		s.flash(c, ui.Done, text.T(f.ctx, "publications.published_silently", "Number", published.Number))
		return redirect(c, views.PublicationPath(published.PublicationID))
	}
	s.wake()
	return redirect(c, views.DeliveryPath(published.DeliveryID))
}

// overQuota reports whether announcing to a group leaves too few of the month's messages, as far as its size is known.
func (s *Site) overQuota(ctx context.Context, g roster.Group) (bool, error) {
	if !g.Linked() || g.LINEMemberCount == 0 {
		return false, nil
	}
	q, err := s.store.Quota(ctx)
	return q.With(g.LINEMemberCount) == roster.QuotaOver, err
}

// askOverQuota shows the month again to somebody who did not say to publish it although too few messages are left; or,
// when it changed, what it is now.
func (s *Site) askOverQuota(c echo.Context, groupID int64, m roster.Month, shown string) error {
	p, err := s.store.Preview(c.Request().Context(), groupID, m)
	if err != nil {
		return err
	}
	if p.Empty() || p.Unchanged || p.Sheet.Hash() != shown {
		return s.showNotPublished(c, groupID, m, shown)
	}
	return s.showPublish(c, http.StatusUnprocessableEntity, p, publishNotes{refused: true})
}

// showNotPublished shows the month as it is now to somebody who pressed the button on another one, or on one whose
// pictures are no longer there. Shown is the hash of that one.
func (s *Site) showNotPublished(c echo.Context, groupID int64, m roster.Month, shown string) error {
	p, err := s.store.Preview(c.Request().Context(), groupID, m)
	if err != nil {
		return err
	}
	if p.Empty() || p.Unchanged {
		return s.showCannotPublish(c, http.StatusConflict, p)
	}
	if !s.stored(p.Pages) {
		p.Pages = nil
	}
	return s.showPublish(c, http.StatusConflict, p, publishNotes{changed: p.Sheet.Hash() != shown})
}

// publication reads the publication that an address names. The error is db.ErrNotFound.
func (s *Site) publication(c echo.Context) (roster.Publication, error) {
	publicationID, err := idParam(c, "publication")
	if err != nil {
		return roster.Publication{}, err
	}
	return s.store.Publication(c.Request().Context(), publicationID)
}

// showPublication shows what was published and how it was sent.
func (s *Site) showPublication(c echo.Context) error {
	return s.showPublicationAs(c, http.StatusOK, "")
}

// showPublicationAs shows the publication that an address names; refusal says why what an admin just wanted was not
// done.
func (s *Site) showPublicationAs(c echo.Context, status int, refusal string) error {
	p, err := s.publication(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := views.Published{Publication: p, Refusal: refusal, Location: s.loc}
	if v.Group, err = s.store.Group(ctx, p.GroupID); err != nil {
		return err
	}
	if v.Group.ArchivedAt.IsZero() {
		c.Set(requestGroup, v.Group)
	}
	for _, image := range p.Pages {
		v.Pictures = append(v.Pictures, views.Picture{Image: image, URL: views.PublicationPath(p.ID) + "/pages/" + strconv.Itoa(image.Page)})
	}
	if v.Deliveries, err = s.store.PublicationDeliveries(ctx, p.ID); err != nil {
		return err
	}
	if nothingNew(c, v.Seen()) {
		return c.NoContent(http.StatusNoContent)
	}
	if v.NotKept, err = s.mayLackRecords(ctx, p.Month); err != nil {
		return err
	}
	var newest *roster.Delivery
	if len(v.Deliveries) > 0 {
		newest = &v.Deliveries[0]
	}
	if v.Resend, err = s.resend(ctx, v.Group, p, newest); err != nil {
		return err
	}
	if v.By, err = s.adminName(ctx, p.PublishedBy); err != nil {
		return err
	}
	if v.Receipts, err = s.receipts(ctx, p); err != nil {
		return err
	}
	all, err := s.store.Publications(ctx, p.GroupID, p.Month)
	if err != nil {
		return err
	}
	if newest := all[0]; newest.Number > p.Number {
		v.Newer = &newest
	}
	return s.render(c, screen{
		status:   status,
		page:     views.Page{Title: views.PublicationTitle(ctx, p), Place: views.PlacePublish, Month: p.Month, Styles: []string{"publication.css", "delivery.css"}},
		body:     views.PublicationPage(v),
		fragment: views.PublicationDeliveries(v),
	})
}

// resend says what sending a publication again would do; newest is its newest delivery, nil if it has none.
func (s *Site) resend(ctx context.Context, g roster.Group, p roster.Publication, newest *roster.Delivery) (views.Resend, error) {
	plan, err := s.store.PlanResend(ctx, p.ID)
	v := views.Resend{
		Publication: p, LastDeliveryID: plan.LastDeliveryID, Messages: plan.Messages, First: plan.First, Arrived: plan.Arrived, ArrivedAt: plan.ArrivedAt,
		LiveID: plan.LiveID, Refusal: plan.Refusal, Location: s.loc,
	}
	if err != nil {
		return v, err
	}
	if newest != nil && newest.State == roster.Failed && newest.ID == plan.LastDeliveryID && (newest.LINEID == "" || newest.LINEID == g.LINEGroupID) &&
		!roster.KeyExpired(s.clock.Now(), newest.KeyFirstTryAt, s.store.DeliveryOptions().RetryKeyTTL) {
		v.FailedID = newest.ID
	}
	v.Quota, err = s.store.Quota(ctx)
	return v, err
}

// newPublicationDelivery asks before a publication that arrived, or may have, is sent again. One that needs no question
// is shown as it is.
func (s *Site) newPublicationDelivery(c echo.Context) error {
	return s.askResend(c, http.StatusOK)
}

func (s *Site) askResend(c echo.Context, status int) error {
	p, err := s.publication(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	g, err := s.store.Group(ctx, p.GroupID)
	if err != nil {
		return err
	}
	v, err := s.resend(ctx, g, p, nil)
	if err != nil {
		return err
	}
	if !v.AsksFirst() {
		return redirect(c, views.PublicationPath(p.ID))
	}
	q := views.ResendQuestion(ctx, v)
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: q.Title, Place: views.PlacePublish, Month: p.Month, Styles: []string{"delivery.css"}},
		body:   views.QuestionPage(q, views.PublicationCrumbs(ctx, p, q.Yes)),
	})
}

// createPublicationDelivery sends a publication to its group again, or for the first time when the group had no LINE
// before.
func (s *Site) createPublicationDelivery(c echo.Context) error {
	publicationID, err := idParam(c, "publication")
	if err != nil {
		return err
	}
	f, err := readForm(c)
	if err != nil {
		return err
	}
	admin, _ := auth.Admin(f.ctx)
	deliveryID, err := s.store.Resend(f.ctx, db.ResendInput{PublicationID: publicationID, AdminID: admin.ID, LastDeliveryID: f.id("last_delivery"), Confirmed: f.checked("confirmed")})
	var unwanted *db.NotWantedError
	switch {
	case err == nil:
		s.wake()
		return redirect(c, views.DeliveryPath(deliveryID))
	case errors.Is(err, db.ErrLive):
		// Pressed twice, or by two admins: one is enough.
		plan, err := s.store.PlanResend(f.ctx, publicationID)
		if err != nil {
			return err
		}
		s.flash(c, ui.Attention, text.T(f.ctx, "publications.resend.began"))
		if plan.LiveID == 0 {
			return redirect(c, views.PublicationPath(publicationID))
		}
		return redirect(c, views.DeliveryPath(plan.LiveID))
	case errors.Is(err, db.ErrEdited):
		return s.showPublicationAs(c, http.StatusConflict, text.T(f.ctx, "publications.resend.edited"))
	case errors.As(err, &unwanted):
		return s.showPublicationAs(c, http.StatusConflict, views.ResendRefusal(f.ctx, unwanted.Code))
	case errors.Is(err, db.ErrMayHaveArrived):
		return s.askResend(c, http.StatusConflict)
	}
	return err
}

// showPublicationPage answers a picture that was published.
func (s *Site) showPublicationPage(c echo.Context) error {
	p, err := s.publication(c)
	if err != nil {
		return err
	}
	return s.sendPicture(c, p.Pages)
}

// monthsOnPage is how many months the list of publications shows at once.
const monthsOnPage = 6

// listPublications lists a group's publications by month, from the month after the present one back.
func (s *Site) listPublications(c echo.Context) error {
	g, err := s.group(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	until := s.today().MonthOf().Add(1)
	v := views.PublicationList{Group: g, Today: s.today(), Location: s.loc}
	if q := c.QueryParam("until"); q != "" {
		if until, err = roster.ParseMonth(q); err != nil {
			return err
		}
		v.Newer = true
	}
	for i := range monthsOnPage {
		month, err := s.publishedMonth(ctx, g.ID, until.Add(-i))
		if err != nil {
			return err
		}
		if len(month.Publications) > 0 || !views.Ended(month.Month, v.Today) {
			v.Months = append(v.Months, month)
		}
	}
	if older := until.Add(-monthsOnPage); older.Year >= roster.FirstYear {
		v.Older = older
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "publications.list"), Place: views.PlacePublish},
		body: views.PublicationListPage(v),
	})
}

func (s *Site) publishedMonth(ctx context.Context, groupID int64, m roster.Month) (views.PublishedMonth, error) {
	v := views.PublishedMonth{Month: m}
	all, err := s.store.Publications(ctx, groupID, m)
	if err != nil {
		return v, err
	}
	if v.NotKept, err = s.mayLackRecords(ctx, m); err != nil {
		return v, err
	}
	for _, p := range all {
		newest, err := s.newestDelivery(ctx, p.ID)
		if err != nil {
			return v, err
		}
		v.Publications = append(v.Publications, views.PublishedVersion{Publication: p, Delivery: newest})
	}
	return v, nil
}
