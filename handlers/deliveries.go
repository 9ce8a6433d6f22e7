package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/views"
	"shiftpost/views/text"
)

const (
	// deliveriesOnPage is how many deliveries the list shows at once.
	deliveriesOnPage = 50
	// monthsToChoose is how many months the list can be narrowed to, the one after the present one and those before.
	monthsToChoose = 14
)

// listDeliveries lists the deliveries, narrowed by what the address says. What it does not know narrows nothing.
func (s *Site) listDeliveries(c echo.Context) error {
	ctx := c.Request().Context()
	v := views.DeliveryList{Now: s.clock.Now(), Location: s.loc}
	for _, state := range roster.DeliveryStates {
		if string(state) == c.QueryParam("state") {
			v.State = state
		}
	}
	v.Kind = roster.DeliveryKind(c.QueryParam("kind"))
	v.Code = roster.Code(c.QueryParam("code"))
	v.Month, _ = roster.ParseMonth(c.QueryParam("month"))
	v.Before, _ = parseID(c.QueryParam("before"))
	for i := range monthsToChoose {
		v.Months = append(v.Months, s.today().MonthOf().Add(1-i))
	}
	rows, err := s.store.Deliveries(ctx, db.DeliveryFilter{
		State: v.State, Kind: v.Kind, Month: v.Month, Code: v.Code, Before: v.Before, Limit: deliveriesOnPage + 1,
	})
	if err != nil {
		return err
	}
	if v.More = len(rows) > deliveriesOnPage; v.More {
		rows = rows[:deliveriesOnPage]
	}
	for _, r := range rows {
		v.Rows = append(v.Rows, views.DeliveryLine{
			Delivery: r.Delivery, Group: r.GroupName, Month: r.Month, Number: r.Number, Teacher: r.Teacher, Work: r.Work, Classroom: r.Classroom,
			Attempts: r.Attempts, Unknown: r.Unknown,
		})
	}
	unfinished, err := s.store.UnfinishedDeliveries(ctx)
	if err != nil {
		return err
	}
	v.Counts = unfinished.States
	if v.Holds, err = s.store.Holds(ctx); err != nil {
		return err
	}
	if nothingNew(c, v.Seen()) {
		return c.NoContent(http.StatusNoContent)
	}
	return s.render(c, screen{
		page:     views.Page{Title: text.T(ctx, "deliveries.list"), Place: views.PlaceDeliveries, Styles: []string{"delivery.css"}},
		body:     views.DeliveryListPage(v),
		fragment: views.DeliveryListContent(v),
	})
}

// nothingNew reports whether a page that asks for itself has seen all there is. It is then left alone: drawing the same
// again would take the focus and the selection away.
func nothingNew(c echo.Context, seen string) bool {
	return wantsFragment(c.Request()) && c.QueryParam("seen") == seen
}

// showDelivery shows one delivery.
func (s *Site) showDelivery(c echo.Context) error {
	deliveryID, err := idParam(c, "delivery")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	d, err := s.store.Delivery(ctx, deliveryID)
	if err != nil {
		return err
	}
	if d.Group.ID != 0 && d.Group.ArchivedAt.IsZero() {
		c.Set(requestGroup, d.Group)
	}
	numbers := s.store.DeliveryOptions()
	v := views.Delivery{
		Delivery: d.Delivery, Group: d.Group, Publication: d.Publication, Teacher: d.Teacher, Shift: d.Shift, Classroom: d.Classroom, Attempts: d.Attempts, MayHaveArrived: d.MayHaveArrived, Dead: d.Dead,
		Now: s.clock.Now(), Location: s.loc, RetryBase: numbers.RetryBase, RetryKeyTTL: numbers.RetryKeyTTL,
	}
	for _, e := range d.Events {
		v.Events = append(v.Events, views.DeliveryEvent{At: e.At, Event: e.Event, Code: e.Code, Admin: e.Admin})
	}
	if v.By, err = s.adminName(ctx, d.CreatedBy); err != nil {
		return err
	}
	if v.Holds, err = s.holdsOf(ctx, d.Kind); err != nil {
		return err
	}
	if nothingNew(c, v.Seen()) {
		return c.NoContent(http.StatusNoContent)
	}
	return s.render(c, screen{
		page:     views.Page{Title: views.DeliveryTitle(ctx, d.Delivery), Place: views.PlaceDeliveries, Styles: []string{"delivery.css"}, Scripts: []string{"js/delivery.js"}},
		body:     views.DeliveryPage(v),
		fragment: views.DeliveryFragment(v),
	})
}

// holdsOf lists why deliveries of a kind wait now.
func (s *Site) holdsOf(ctx context.Context, kind roster.DeliveryKind) ([]roster.Hold, error) {
	holds, err := s.store.Holds(ctx)
	return slices.DeleteFunc(holds, func(h roster.Hold) bool { return kind.Notice() && !h.Notices }), err
}

// adminName is the name of an admin, empty for none and for one who is not known.
func (s *Site) adminName(ctx context.Context, adminID int64) (string, error) {
	if adminID == 0 {
		return "", nil
	}
	admin, err := s.store.Admin(ctx, adminID)
	if errors.Is(err, db.ErrNotFound) {
		return "", nil
	}
	return admin.Name, err
}
