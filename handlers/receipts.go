package handlers

import (
	"context"

	"github.com/labstack/echo/v4"

	"shiftpost/db/roster"
	"shiftpost/views"
	"shiftpost/views/text"
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
	newest, _, err := s.store.NewestNumber(ctx, p.GroupID, p.Month)
	if newest > p.Number {
		r.Newer = newest
	}
	return r, err
}
