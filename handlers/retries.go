package handlers

import (
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

// newRetry asks before a delivery that may have arrived is sent with a new retry key. One that needs no question is
// shown as it is.
func (s *Site) newRetry(c echo.Context) error {
	v, err := s.delivery(c)
	if err != nil {
		return err
	}
	if !v.AsksFirst() {
		return redirect(c, views.DeliveryPath(v.ID))
	}
	return s.askNewKey(c, http.StatusOK, v)
}

func (s *Site) askNewKey(c echo.Context, status int, v views.Delivery) error {
	ctx := c.Request().Context()
	q := views.NewKeyQuestion(ctx, v)
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: q.Title, Place: views.PlaceDeliveries, Styles: []string{"delivery.css"}},
		body:   views.QuestionPage(q, views.DeliveryCrumbs(ctx, v)),
	})
}

// createRetry sends a failed delivery again.
func (s *Site) createRetry(c echo.Context) error {
	deliveryID, err := idParam(c, "delivery")
	if err != nil {
		return err
	}
	f, err := readForm(c)
	if err != nil {
		return err
	}
	admin, _ := auth.Admin(f.ctx)
	err = s.store.RetryDelivery(f.ctx, deliveryID, admin.ID, f.checked("confirmed"))
	var unwanted *db.NotWantedError
	switch {
	case err == nil:
		s.flash(c, ui.Done, text.T(f.ctx, "deliveries.done.retried"))
		s.wake()
	case errors.Is(err, db.ErrNotFailed):
		// Pressed twice, or by two admins: it is on its way, or has arrived.
		s.flash(c, ui.Attention, text.T(f.ctx, "deliveries.done.not_failed"))
	case errors.Is(err, db.ErrLive):
		s.flash(c, ui.Attention, text.T(f.ctx, "deliveries.done.live"))
	case errors.Is(err, db.ErrMayHaveArrived), errors.As(err, &unwanted):
		v, err := s.delivery(c)
		if err != nil {
			return err
		}
		if unwanted == nil {
			return s.askNewKey(c, http.StatusConflict, v)
		}
		v.Refusal = views.RetryRefusal(f.ctx, unwanted.Code)
		return s.showDeliveryAs(c, http.StatusConflict, v)
	default:
		return err
	}
	return redirect(c, views.DeliveryPath(deliveryID))
}

// newRetries asks before every delivery that failed for one reason is sent again.
func (s *Site) newRetries(c echo.Context) error {
	return s.askRetries(c, http.StatusOK, roster.Code(c.QueryParam("code")), false)
}

func (s *Site) askRetries(c echo.Context, status int, code roster.Code, changed bool) error {
	ctx := c.Request().Context()
	if !views.KnownCode(code) {
		return db.ErrNotFound
	}
	p, err := s.store.PlanRetries(ctx, code)
	if err != nil {
		return err
	}
	quota, err := s.store.Quota(ctx)
	if err != nil {
		return err
	}
	q := views.RetryQuestion(ctx, views.RetryPlan{Code: code, Deliveries: p.Deliveries, Messages: p.Messages, Unsure: p.Unsure, Unwanted: p.Unwanted, Changed: changed, Quota: quota})
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: q.Title, Place: views.PlaceDeliveries, Styles: []string{"delivery.css"}},
		body:   views.QuestionPage(q, views.RetryCrumbs(ctx, code)),
	})
}

// createRetries sends every delivery that failed for one reason again, as it was shown. When other deliveries would go
// than were shown, it asks once more.
func (s *Site) createRetries(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	admin, _ := auth.Admin(f.ctx)
	in := db.RetryAllInput{Code: roster.Code(f.text("code")), AdminID: admin.ID, Shown: db.RetryPlan{Deliveries: f.count("deliveries"), Messages: f.count("messages")}}
	switch err := s.store.RetryAll(f.ctx, in); {
	case errors.Is(err, db.ErrEdited):
		return s.askRetries(c, http.StatusConflict, in.Code, true)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(f.ctx, "retries.begun"))
	s.wake()
	return redirect(c, "/deliveries")
}
