package handlers

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/line"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// invitable reads the active teachers who are not linked, by home classroom, and which of them have an invitation that
// can still be used.
func (s *Site) invitable(ctx context.Context) (views.InvitationForm, error) {
	v := views.InvitationForm{Location: s.loc, Connected: s.connected()}
	var err error
	if v.Classrooms, _, err = s.homes(ctx); err != nil {
		return v, err
	}
	if v.Teachers, err = s.store.Teachers(ctx); err != nil {
		return v, err
	}
	v.Teachers = slices.DeleteFunc(v.Teachers, func(t roster.Teacher) bool { return !t.Active() || t.Linked() })
	v.Open, err = s.store.OpenInvitations(ctx)
	return v, err
}

// connected reports whether there is a LIFF app that an invitation could open.
func (s *Site) connected() bool { return s.viewer.LIFFID != "" }

// newInvitations asks whom to invite.
func (s *Site) newInvitations(c echo.Context) error {
	v, err := s.invitable(c.Request().Context())
	if err != nil {
		return err
	}
	for _, t := range v.Teachers {
		v.Chosen = append(v.Chosen, t.ID)
	}
	return s.showInvitationForm(c, http.StatusOK, v)
}

func (s *Site) showInvitationForm(c echo.Context, status int, v views.InvitationForm) error {
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: text.T(c.Request().Context(), "invitations.title"), Place: views.PlaceTeachers, Invalid: v.Error != "", Styles: []string{"linking.css"}},
		body:   views.InvitationFormPage(v),
	})
}

// createInvitations invites several teachers and shows the page to print. Only the answer has the secrets: they are not
// kept, so there is no address to come back to.
func (s *Site) createInvitations(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	v, err := s.invitable(f.ctx)
	if err != nil {
		return err
	}
	for _, value := range f.values["teacher"] {
		if id, ok := parseID(value); ok && slices.ContainsFunc(v.Teachers, func(t roster.Teacher) bool { return t.ID == id }) {
			v.Chosen = append(v.Chosen, id)
		}
	}
	switch {
	case !v.Connected:
		return s.showInvitationForm(c, http.StatusConflict, v)
	case len(v.Chosen) == 0:
		v.Error = text.T(f.ctx, "invitations.choose")
		return s.showInvitationForm(c, http.StatusUnprocessableEntity, v)
	}
	admin, _ := auth.Admin(f.ctx)
	issued, err := s.store.CreateInvitations(f.ctx, v.Chosen, admin.ID)
	if err != nil {
		return err
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(f.ctx, "invitations.sheet"), Place: views.PlaceTeachers, Styles: []string{"linking.css"}},
		body: views.InvitationSheetPage(s.invitations(issued)),
	})
}

// invitations gives issued invitations their addresses.
func (s *Site) invitations(issued []db.IssuedInvitation) []views.Invitation {
	var list []views.Invitation
	for _, x := range issued {
		list = append(list, views.Invitation{
			Teacher: x.Teacher, ExpiresAt: x.ExpiresAt, Location: s.loc,
			URL: s.liffURL() + "/invitations/" + x.Token,
		})
	}
	return list
}

// liffURL is the LIFF app's address at LINE, to which a path below its endpoint can be added.
func (s *Site) liffURL() string {
	return strings.TrimSuffix(s.viewer.LIFFBaseURL, "/") + "/" + s.viewer.LIFFID
}

// createInvitation invites one teacher and shows the code, once.
func (s *Site) createInvitation(c echo.Context) error {
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	admin, _ := auth.Admin(ctx)
	var issued []db.IssuedInvitation
	if s.connected() {
		if issued, err = s.store.CreateInvitations(ctx, []int64{t.ID}, admin.ID); err != nil {
			return err
		}
	}
	if len(issued) == 0 {
		// They were linked or left in the meantime, or there is no LIFF app: the page says so.
		return s.showStoredTeacher(c, http.StatusConflict, t)
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "invitations.of", "Name", t.Name), Place: views.PlaceTeachers, Styles: []string{"linking.css"}},
		body: views.InvitationPage(s.invitations(issued)[0]),
	})
}

// deleteInvitation withdraws the open invitation of a teacher.
func (s *Site) deleteInvitation(c echo.Context) error {
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.store.RevokeInvitation(ctx, t.ID); err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "invitations.revoked", "Name", t.Name))
	return redirect(c, views.TeacherPath(t.ID))
}

// deleteTeacherLink ends a teacher's link to LINE.
func (s *Site) deleteTeacherLink(c echo.Context) error {
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.store.UnlinkTeacher(ctx, t.ID); err != nil {
		return err
	}
	s.wake()
	s.flash(c, ui.Done, text.T(ctx, "invitations.unlinked", "Name", t.Name))
	return redirect(c, views.TeacherPath(t.ID))
}

// teacherLINE reads what the teacher's page says about LINE.
func (s *Site) teacherLINE(ctx context.Context, t roster.Teacher) (views.TeacherLINEState, error) {
	v := views.TeacherLINEState{Connected: s.connected(), Location: s.loc}
	if t.Linked() {
		var err error
		v.LinkedAt, err = s.store.LinkedAt(ctx, t.ID)
		return v, err
	}
	open, err := s.store.OpenInvitations(ctx)
	if x, ok := open[t.ID]; ok {
		v.Invitation = &x
	}
	return v, err
}

// errNoInvitation tells that an invitation does not exist here.
var errNoInvitation = errors.New("no such invitation")

// showInvitation shows whom an invitation would link, to whom LINE vouches for. Who was linked by it already reads that.
func (s *Site) showInvitation(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	idToken, token := f.values.Get("id_token"), f.text("token")
	identity, err := s.viewer.Sessions.Visitor(f.ctx, idToken)
	if err != nil {
		return err
	}
	t, err := s.tryInvitation(identity.UserID, func() (roster.Teacher, error) { return s.store.Invitation(f.ctx, token, identity.UserID) })
	if err != nil {
		return s.showAlreadyLinked(c, t, identity.UserID, idToken, err)
	}
	return s.renderViewer(c, http.StatusOK, text.T(f.ctx, "viewer.link.title"), views.ViewerInvitation(views.InvitationAnswer{Teacher: t, LINEName: identity.Name, Token: token}))
}

// createLink links whom LINE vouches for to the teacher whom an invitation is for, and signs them in.
func (s *Site) createLink(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	idToken, token := f.values.Get("id_token"), f.text("token")
	identity, err := s.viewer.Sessions.Visitor(f.ctx, idToken)
	if err != nil {
		return err
	}
	t, err := s.tryInvitation(identity.UserID, func() (roster.Teacher, error) { return s.store.AcceptInvitation(f.ctx, token, identity.UserID) })
	if err != nil {
		return s.showAlreadyLinked(c, t, identity.UserID, idToken, err)
	}
	s.wake()
	return s.showLinked(c, t, idToken, true)
}

// tryInvitation looks for an invitation, which a LINE user may do in vain a few times only.
func (s *Site) tryInvitation(lineUserID string, look func() (roster.Teacher, error)) (roster.Teacher, error) {
	if err := s.viewer.Sessions.TakeTry(lineUserID); err != nil {
		return roster.Teacher{}, err
	}
	t, err := look()
	if errors.Is(err, db.ErrNotFound) {
		return t, errNoInvitation
	}
	s.viewer.Sessions.ForgiveTries(lineUserID)
	return t, err
}

// showAlreadyLinked answers somebody whose invitation is spent because it did its work: they opened it once more. Anybody
// else gets the error.
func (s *Site) showAlreadyLinked(c echo.Context, invited roster.Teacher, lineUserID, idToken string, err error) error {
	if !errors.Is(err, db.ErrInvitationUsed) && !errors.Is(err, db.ErrInvitationRevoked) {
		return err
	}
	t, findErr := s.store.TeacherByLINE(c.Request().Context(), lineUserID)
	if findErr != nil || t.ID != invited.ID {
		return err
	}
	return s.showLinked(c, t, idToken, false)
}

// showLinked tells a teacher that they are linked, and whether messages reach them.
func (s *Site) showLinked(c echo.Context, t roster.Teacher, idToken string, now bool) error {
	ctx := c.Request().Context()
	if err := s.viewer.Sessions.Begin(ctx, t, idToken); err != nil {
		return err
	}
	reach, err := s.reach(ctx, t)
	if err != nil {
		return err
	}
	return s.renderViewer(c, http.StatusOK, text.T(ctx, "viewer.link.title"), views.ViewerLinked(views.LinkedTeacher{Teacher: t, Reach: reach, Now: now}))
}

// reach asks LINE whether messages reach a linked teacher, and stores the answer. When LINE does not say, what was known
// before counts.
func (s *Site) reach(ctx context.Context, t roster.Teacher) (views.Reach, error) {
	v := views.Reach{Friend: !t.Blocked}
	if s.line != nil {
		askedAt := s.store.Now()
		asking, stop := context.WithTimeout(ctx, membersPatience)
		defer stop()
		_, err := s.line.Profile(asking, t.LINEUserID)
		switch {
		case err == nil, line.NotFound(err):
			v.Friend, v.Known = err == nil, true
			if _, err := s.store.NoteFriend(ctx, t.LINEUserID, v.Friend, askedAt); err != nil {
				return v, err
			}
		default:
			s.log.WarnContext(ctx, "LINE did not say whether a teacher is a friend", "teacher", t.ID, "error", err)
		}
	}
	if !v.Friend {
		if id := s.account(ctx).BasicID; id != "" {
			// Source: https://developers.line.biz/en/docs/messaging-api/using-line-url-scheme/ , read in October 2026.
			v.AddURL = "https://line.me/R/ti/p/" + url.QueryEscape(id)
		}
	}
	return v, nil
}

// showFriendship asks LINE once more whether messages reach a teacher, who says that they befriended the account.
func (s *Site) showFriendship(c echo.Context) error {
	ctx := c.Request().Context()
	reach, err := s.reach(ctx, reader(c))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, http.StatusOK, text.T(ctx, "viewer.link.title"), views.ViewerReach(reach))
}

// showLink shows a teacher as whom they are linked, and how to end it.
func (s *Site) showLink(c echo.Context) error {
	ctx := c.Request().Context()
	t := reader(c)
	at, err := s.store.LinkedAt(ctx, t.ID)
	if err != nil {
		return err
	}
	reach, err := s.reach(ctx, t)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, http.StatusOK, text.T(ctx, "viewer.link.title"), views.ViewerLink(views.LinkedTeacher{Teacher: t, Reach: reach, LinkedAt: at, Location: s.loc}))
}

// deleteLink ends a teacher's link as they wish.
func (s *Site) deleteLink(c echo.Context) error {
	ctx := c.Request().Context()
	if err := s.store.UnlinkTeacher(ctx, reader(c).ID); err != nil {
		return err
	}
	s.wake()
	if err := s.viewer.Sessions.End(ctx); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, http.StatusOK, text.T(ctx, "viewer.link.title"), views.ViewerUnlinked())
}
