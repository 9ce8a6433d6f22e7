package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"shiftpost/handlers/auth"
	"shiftpost/static"
)

// route is one line of the table of routes.
type route struct {
	method string
	path   string
	handle echo.HandlerFunc
}

// public lists the routes that everybody may ask. A route that is not in it belongs into adminRoutes.
func (s *Site) public() []route {
	return []route{
		{http.MethodGet, "/healthz", s.showHealth},
		{http.MethodGet, static.Prefix + "*", echo.WrapHandler(static.Handler())},
		{http.MethodPost, "/language", s.setLanguage},
		{http.MethodGet, "/session/new", s.newSession},
		{http.MethodPost, "/session", s.createSession},
		{http.MethodDelete, "/session", s.deleteSession},
		{http.MethodGet, "/sign-in-links/:token", s.showSignInLink},
		{http.MethodPost, "/sign-in-links/:token", s.useSignInLink},
		{http.MethodPost, webhookPath, s.receiveWebhook},
	}
}

// forAdmins lists the routes that need an admin who is signed in.
func (s *Site) forAdmins() []route {
	return []route{
		{http.MethodGet, "/", s.showHome},
		{http.MethodGet, "/settings", s.showSettings},
		{http.MethodPut, "/settings", s.updateSettings},
		{http.MethodPut, "/settings/retention", s.updateRetention},

		{http.MethodGet, "/groups", s.listGroups},
		{http.MethodGet, "/groups/new", s.newGroup},
		{http.MethodPost, "/groups", s.createGroup},
		{http.MethodGet, "/groups/:group", s.showGroup},
		{http.MethodGet, "/groups/:group/edit", s.editGroup},
		{http.MethodPut, "/groups/:group", s.updateGroup},
		{http.MethodPost, "/groups/:group/archive", s.archiveGroup},
		{http.MethodDelete, "/groups/:group/archive", s.restoreGroup},
		{http.MethodGet, "/groups/:group/line-group", s.showGroupLINE},
		{http.MethodPut, "/groups/:group/line-group", s.tieLINEGroup},
		{http.MethodDelete, "/groups/:group/line-group", s.untieLINEGroup},
		{http.MethodPost, "/groups/:group/line-group/test-messages", s.createTestMessage},
		{http.MethodPost, "/line-groups/:line_group/dismissal", s.dismissLINEGroup},

		{http.MethodGet, "/classrooms", s.listClassrooms},
		{http.MethodGet, "/classrooms/new", s.newClassroom},
		{http.MethodPost, "/classrooms", s.createClassroom},
		{http.MethodGet, "/classrooms/:classroom/edit", s.editClassroom},
		{http.MethodPut, "/classrooms/:classroom", s.updateClassroom},
		{http.MethodPost, "/classrooms/:classroom/archive", s.archiveClassroom},
		{http.MethodDelete, "/classrooms/:classroom/archive", s.restoreClassroom},

		{http.MethodGet, "/teachers", s.listTeachers},
		{http.MethodGet, "/teachers/new", s.newTeacher},
		{http.MethodPost, "/teachers", s.createTeacher},
		{http.MethodGet, "/teachers/:teacher/edit", s.editTeacher},
		{http.MethodPut, "/teachers/:teacher", s.updateTeacher},
		{http.MethodPost, "/teachers/:teacher/archive", s.archiveTeacher},
		{http.MethodDelete, "/teachers/:teacher/archive", s.restoreTeacher},
		{http.MethodPost, "/teachers/:teacher/invitations", s.createInvitation},
		{http.MethodDelete, "/teachers/:teacher/invitations", s.deleteInvitation},
		{http.MethodDelete, "/teachers/:teacher/link", s.deleteTeacherLink},
		{http.MethodGet, "/invitations/new", s.newInvitations},
		{http.MethodPost, "/invitations", s.createInvitations},

		{http.MethodGet, "/patterns", s.listPatterns},
		{http.MethodGet, "/patterns/new", s.newPattern},
		{http.MethodPost, "/patterns", s.createPattern},
		{http.MethodGet, "/patterns/:pattern/edit", s.editPattern},
		{http.MethodPut, "/patterns/:pattern", s.updatePattern},
		{http.MethodPost, "/patterns/:pattern/archive", s.archivePattern},
		{http.MethodDelete, "/patterns/:pattern/archive", s.restorePattern},

		{http.MethodGet, "/groups/:group/months/:month", s.showMonth},
		{http.MethodPost, "/groups/:group/months/:month/confirmations", s.createConfirmations},
		{http.MethodGet, "/groups/:group/months/:month/shifts/new", s.newShift},
		{http.MethodPost, "/groups/:group/months/:month/shifts", s.createShift},
		{http.MethodGet, "/shifts/:shift/edit", s.editShift},
		{http.MethodPut, "/shifts/:shift", s.updateShift},
		{http.MethodDelete, "/shifts/:shift", s.deleteShift},
		{http.MethodPost, "/shifts/:shift/confirmation", s.createConfirmation},
		{http.MethodDelete, "/shifts/:shift/confirmation", s.deleteConfirmation},

		{http.MethodGet, "/groups/:group/publications", s.listPublications},
		{http.MethodGet, "/groups/:group/months/:month/publications/new", s.newPublication},
		{http.MethodPost, "/groups/:group/months/:month/publications", s.createPublication},
		{http.MethodGet, "/previews/:sheet_hash/pages/:page", s.showPreviewPage},
		{http.MethodGet, "/publications/:publication", s.showPublication},
		{http.MethodGet, "/publications/:publication/pages/:page", s.showPublicationPage},
		{http.MethodGet, "/publications/:publication/receipts", s.listReceipts},
		{http.MethodGet, "/publications/:publication/receipt-requests/new", s.newReceiptRequests},
		{http.MethodPost, "/publications/:publication/receipt-requests", s.createReceiptRequests},
		{http.MethodGet, "/publications/:publication/deliveries/new", s.newPublicationDelivery},
		{http.MethodPost, "/publications/:publication/deliveries", s.createPublicationDelivery},

		{http.MethodGet, "/deliveries", s.listDeliveries},
		{http.MethodGet, "/deliveries/:delivery", s.showDelivery},
		{http.MethodDelete, "/deliveries/:delivery", s.deleteDelivery},
		{http.MethodDelete, "/deliveries/:delivery/wait", s.deleteWait},
		{http.MethodPost, "/deliveries/:delivery/phone-calls", s.createPhoneCall},
		{http.MethodGet, "/deliveries/:delivery/retries/new", s.newRetry},
		{http.MethodPost, "/deliveries/:delivery/retries", s.createRetry},
		{http.MethodGet, "/retries/new", s.newRetries},
		{http.MethodPost, "/retries", s.createRetries},

		{http.MethodGet, "/channel", s.showChannel},
		{http.MethodDelete, "/channel/holds/:cause", s.deleteHold},
	}
}

// sessionless reports whether a request is answered without looking at a session.
func sessionless(path string) bool {
	return path == "/healthz" || strings.HasPrefix(path, static.Prefix) || path == viewerPath || strings.HasPrefix(path, viewerPath+"/") ||
		strings.HasPrefix(path, "/calendars/") || fromLINE(path)
}

func (s *Site) register() {
	add := func(r route, m ...echo.MiddlewareFunc) {
		s.echo.Add(r.method, r.path, r.handle, m...)
		if r.method == http.MethodGet {
			s.echo.Add(http.MethodHead, r.path, r.handle, m...)
		}
	}
	for _, r := range s.public() {
		add(r)
	}
	for _, r := range s.forTeachers() {
		add(r)
	}
	for _, r := range s.forAdmins() {
		add(r, auth.RequireAdmin)
	}
}

// showHealth tells a monitor that the site answers and can read its database.
func (s *Site) showHealth(c echo.Context) error {
	if _, err := s.store.Groups(c.Request().Context()); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.String(http.StatusOK, "ok\n")
}
