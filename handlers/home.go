package handlers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// showHome shows what must be acted on and how the present group stands; ?group makes another one the present one. A
// school without groups is led to the first thing it needs.
func (s *Site) showHome(c echo.Context) error {
	ctx := c.Request().Context()
	groups, err := s.groupsInUse(ctx)
	if err != nil {
		return err
	}
	if id, ok := parseID(c.QueryParam("group")); ok {
		for _, g := range groups {
			if g.ID == id {
				s.present(c, g)
			}
		}
	}
	g := s.presentGroup(c, groups)
	if g.ID == 0 {
		return c.Redirect(http.StatusSeeOther, "/groups/new")
	}
	h, err := s.store.Home(ctx, g.ID)
	if err != nil {
		return err
	}
	v := views.Home{Home: h, Location: s.loc, SweepEvery: s.store.DeliveryOptions().SweepEvery}
	if v.Seen, err = lookOf(ctx, v); err != nil {
		return err
	}
	fragment := views.HomeFragment(v)
	if nothingNew(c, v.Seen) {
		// Only the time is written anew: drawing the rest again would take the focus and the selection away.
		c.Response().Header().Set("HX-Reswap", "none")
		fragment = views.HomeUnchanged(v)
	}
	return s.render(c, screen{
		page:     views.Page{Title: text.T(ctx, "home.title"), Place: views.PlaceHome, Styles: []string{"home.css", "quota.css"}},
		body:     views.HomePage(v),
		fragment: fragment,
	})
}

// lookOf names what the home page looks like: two looks with the same name show the same.
func lookOf(ctx context.Context, v views.Home) (string, error) {
	var b bytes.Buffer
	if err := views.HomeContent(v).Render(ctx, &b); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:8]), nil
}

// createPhoneCall notes that an admin told somebody by phone what a notice could not.
func (s *Site) createPhoneCall(c echo.Context) error {
	deliveryID, err := idParam(c, "delivery")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	admin, _ := auth.Admin(ctx)
	d, err := s.store.Delivery(ctx, deliveryID)
	if err != nil {
		return err
	}
	switch err := s.store.NotePhoneCall(ctx, deliveryID, admin.ID); {
	case errors.Is(err, db.ErrNotUntold):
		s.flash(c, ui.Attention, text.T(ctx, "home.phone_refused"))
	case err != nil:
		return err
	default:
		s.flash(c, ui.Done, text.T(ctx, "home.phone_noted", "Name", d.Teacher.Name))
	}
	return redirect(c, pageOf(c.Request()))
}
