package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
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
	v := views.DeliveryList{Now: s.clock.Now(), Location: s.loc, RetryKeyTTL: s.store.DeliveryOptions().RetryKeyTTL}
	if show := views.Shown(c.QueryParam("state")); slices.Contains(views.ShownChips, show) {
		v.Show = show
	}
	v.Kind = roster.DeliveryKind(c.QueryParam("kind"))
	v.Code = roster.Code(c.QueryParam("code"))
	v.Month, _ = roster.ParseMonth(c.QueryParam("month"))
	v.Teacher = oneLine(c.QueryParam("teacher"))
	v.Before, _ = parseID(c.QueryParam("before"))
	for i := range monthsToChoose {
		v.Months = append(v.Months, s.today().MonthOf().Add(1-i))
	}
	f := db.DeliveryFilter{Kind: v.Kind, Month: v.Month, Code: v.Code, Teacher: v.Teacher, Before: v.Before, Limit: deliveriesOnPage + 1}
	switch v.Show {
	case views.ShownUnknown:
		f.Unknown = true
	case views.ShownDead:
		f.Dead = true
	default:
		f.State = roster.DeliveryState(v.Show)
	}
	rows, err := s.store.Deliveries(ctx, f)
	if err != nil {
		return err
	}
	if v.More = len(rows) > deliveriesOnPage; v.More {
		rows = rows[:deliveriesOnPage]
	}
	for _, r := range rows {
		v.Rows = append(v.Rows, views.DeliveryLine{
			Delivery: r.Delivery, Group: r.GroupName, Month: r.Month, Number: r.Number, Teacher: r.Teacher, Work: r.Work, Classroom: r.Classroom,
			Messages: r.Messages, Attempts: r.Attempts, Unknown: r.Unknown, Unwanted: r.Unwanted,
		})
	}
	unfinished, err := s.store.UnfinishedDeliveries(ctx)
	if err != nil {
		return err
	}
	v.Reasons = unfinished.Codes
	v.Counts = map[views.Shown]int{views.ShownUnknown: unfinished.Unknown, views.ShownDead: unfinished.Dead}
	for state, n := range unfinished.States {
		v.Counts[views.Shown(state)] = n
	}
	if v.Holds, err = s.holds(ctx); err != nil {
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
	v, err := s.delivery(c)
	if err != nil {
		return err
	}
	if nothingNew(c, v.Seen()) {
		return c.NoContent(http.StatusNoContent)
	}
	return s.showDeliveryAs(c, http.StatusOK, v)
}

func (s *Site) showDeliveryAs(c echo.Context, status int, v views.Delivery) error {
	return s.render(c, screen{
		status:   status,
		page:     views.Page{Title: views.DeliveryTitle(c.Request().Context(), v.Delivery), Place: views.PlaceDeliveries, Styles: []string{"delivery.css"}, Scripts: []string{"js/delivery.js"}},
		body:     views.DeliveryPage(v),
		fragment: views.DeliveryFragment(v),
	})
}

// delivery reads the delivery that an address names. The error is db.ErrNotFound.
func (s *Site) delivery(c echo.Context) (views.Delivery, error) {
	var v views.Delivery
	deliveryID, err := idParam(c, "delivery")
	if err != nil {
		return v, err
	}
	ctx := c.Request().Context()
	d, err := s.store.Delivery(ctx, deliveryID)
	if err != nil {
		return v, err
	}
	if d.Group.ID != 0 && d.Group.ArchivedAt.IsZero() {
		c.Set(requestGroup, d.Group)
	}
	numbers := s.store.DeliveryOptions()
	v = views.Delivery{
		Delivery: d.Delivery, Group: d.Group, Publication: d.Publication, Teacher: d.Teacher, Shift: d.Shift, Classroom: d.Classroom, Attempts: d.Attempts,
		MayHaveArrived: d.MayHaveArrived, Dead: d.Dead, Unwanted: d.Unwanted, Revives: d.Revives,
		Now: s.clock.Now(), Location: s.loc, RetryBase: numbers.RetryBase, RetryKeyTTL: numbers.RetryKeyTTL,
	}
	for _, e := range d.Events {
		v.Events = append(v.Events, views.DeliveryEvent{At: e.At, Event: e.Event, Code: e.Code, Admin: e.Admin})
	}
	if v.By, err = s.adminName(ctx, d.CreatedBy); err != nil {
		return v, err
	}
	if v.Quota, err = s.store.Quota(ctx); err != nil {
		return v, err
	}
	v.Holds, err = s.holds(ctx)
	v.Holds = slices.DeleteFunc(v.Holds, func(h views.Hold) bool { return d.Kind.Notice() && !h.Notices })
	return v, err
}

// deleteDelivery calls a waiting delivery off.
func (s *Site) deleteDelivery(c echo.Context) error {
	return s.changeWaiting(c, func(ctx context.Context, deliveryID, adminID int64) error {
		return s.store.CancelDelivery(ctx, deliveryID, adminID)
	}, "")
}

// deleteWait ends the wait of a delivery: its next try is due now.
func (s *Site) deleteWait(c echo.Context) error {
	return s.changeWaiting(c, func(ctx context.Context, deliveryID, adminID int64) error {
		return s.store.HurryDelivery(ctx, deliveryID, adminID)
	}, text.T(c.Request().Context(), "deliveries.done.hurried"))
}

// changeWaiting does something with a delivery that waits, and shows it. One that does not wait any more is shown as it
// is, with a word about it, unless an admin called it off: then the button was pressed twice.
func (s *Site) changeWaiting(c echo.Context, change func(ctx context.Context, deliveryID, adminID int64) error, done string) error {
	deliveryID, err := idParam(c, "delivery")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	admin, _ := auth.Admin(ctx)
	err = change(ctx, deliveryID, admin.ID)
	switch {
	case errors.Is(err, db.ErrNotWaiting):
		d, err := s.store.Delivery(ctx, deliveryID)
		if err != nil {
			return err
		}
		if d.Code != roster.CodeCanceledByAdmin {
			s.flash(c, ui.Attention, text.T(ctx, "deliveries.done.not_waiting"))
		}
	case err != nil:
		return err
	default:
		if done != "" {
			s.flash(c, ui.Done, done)
		}
		s.wake()
	}
	return redirect(c, views.DeliveryPath(deliveryID))
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
