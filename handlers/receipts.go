package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// listReceipts shows who opened and who confirmed a publication, and who has not.
func (s *Site) listReceipts(c echo.Context) error {
	p, err := s.publication(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	r, err := s.receipts(ctx, p)
	if err != nil {
		return err
	}
	if r.Group.ArchivedAt.IsZero() {
		c.Set(requestGroup, r.Group)
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "receipts.title"), Place: views.PlacePublish, Month: p.Month},
		body: views.ReceiptsPage(r),
	})
}

// receipts reads the receipts of a publication as its pages show them.
func (s *Site) receipts(ctx context.Context, p roster.Publication) (views.Receipts, error) {
	r := views.Receipts{Publication: p, Location: s.loc}
	var err error
	if r.Group, err = s.store.Group(ctx, p.GroupID); err != nil {
		return r, err
	}
	if r.Lines, err = s.store.Receipts(ctx, p.ID); err != nil {
		return r, err
	}
	requests, err := s.store.ReceiptRequests(ctx, p.ID)
	if err != nil {
		return r, err
	}
	r.Requests = make(map[int64]roster.Delivery, len(requests))
	for _, d := range requests {
		r.Requests[d.TeacherID] = d
	}
	if r.Ask, err = s.receiptRequests(ctx, p); err != nil {
		return r, err
	}
	newest, _, err := s.store.NewestNumber(ctx, p.GroupID, p.Month)
	if newest > p.Number {
		r.Newer = newest
	}
	return r, err
}

// receiptRequests says what asking everybody who has still to confirm a publication would do.
func (s *Site) receiptRequests(ctx context.Context, p roster.Publication) (views.ReceiptRequests, error) {
	v := views.ReceiptRequests{Publication: p, Location: s.loc}
	plan, err := s.store.PlanReceiptRequests(ctx, p.ID)
	if err != nil {
		return v, err
	}
	v.Live, v.Digest, v.Refusal = plan.Live, plan.Digest(), plan.Refusal
	for _, a := range plan.Asked {
		v.Asked = append(v.Asked, views.AskedTeacher{Teacher: a.Teacher, LastAt: a.LastAt, Unsure: a.Arrived == roster.Maybe})
	}
	for _, u := range plan.Cannot {
		v.Cannot = append(v.Cannot, views.UnaskedTeacher{Name: u.Teacher.Name, Code: u.Code})
	}
	v.Quota, err = s.store.Quota(ctx)
	return v, err
}

// newReceiptRequests asks before everybody who has still to confirm a publication is sent a message.
func (s *Site) newReceiptRequests(c echo.Context) error {
	return s.askReceiptRequests(c, http.StatusOK, false)
}

func (s *Site) askReceiptRequests(c echo.Context, status int, changed bool) error {
	p, err := s.publication(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v, err := s.receiptRequests(ctx, p)
	if err != nil {
		return err
	}
	v.Changed = changed
	q := views.ReceiptRequestQuestion(ctx, v)
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: q.Title, Place: views.PlacePublish, Month: p.Month, Styles: []string{"delivery.css"}},
		body:   views.QuestionPage(q, views.PublicationCrumbs(ctx, p, text.T(ctx, "receipts.title"))),
	})
}

// createReceiptRequests asks everybody who has still to confirm a publication to do so, as it was shown. When other people
// would be asked, or somebody asked meanwhile, it shows that first.
func (s *Site) createReceiptRequests(c echo.Context) error {
	publicationID, err := idParam(c, "publication")
	if err != nil {
		return err
	}
	f, err := readForm(c)
	if err != nil {
		return err
	}
	admin, _ := auth.Admin(f.ctx)
	n, err := s.store.RequestReceipts(f.ctx, db.ReceiptRequestInput{PublicationID: publicationID, AdminID: admin.ID, Shown: f.text("shown")})
	var unwanted *db.NotWantedError
	switch {
	case errors.Is(err, db.ErrEdited), errors.As(err, &unwanted):
		return s.askReceiptRequests(c, http.StatusConflict, true)
	case err != nil:
		return err
	}
	s.wake()
	s.flash(c, ui.Done, text.N(f.ctx, "receipts.request.done", n))
	return redirect(c, views.ReceiptsPath(publicationID))
}
