package handlers

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
)

// showDocument shows a publication: to a teacher with their own shifts, to an admin without. It notes the first time
// that a teacher opens it.
func (s *Site) showDocument(c echo.Context) error {
	ctx := c.Request().Context()
	teacher := reader(c)
	d, err := s.store.Document(ctx, c.Param("documentId"), teacher.ID)
	if err != nil {
		return err
	}
	if teacher.ID != 0 && d.Receipt.OpenedAt.IsZero() && c.Request().Method == http.MethodGet {
		if err := s.store.RecordOpening(ctx, d.Publication.ID, teacher.ID); err != nil {
			return err
		}
	}
	return s.drawDocument(c, http.StatusOK, d, false)
}

// errNothingPublished tells that there is no document to show yet.
var errNothingPublished = errors.New("nothing is published")

// showPresentDocument leads from the viewer's own address, which may stand in a menu of the LINE account, to the document
// that concerns the reader most.
func (s *Site) showPresentDocument(c echo.Context) error {
	documentID, err := s.store.PresentDocument(c.Request().Context(), reader(c).ID)
	if errors.Is(err, db.ErrNotFound) {
		return errNothingPublished
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/viewer/documents/"+documentID)
}

// reader is the teacher who looks, zero when an admin does.
func reader(c echo.Context) roster.Teacher {
	teacher, err := auth.Teacher(c.Request().Context())
	if err != nil {
		return roster.Teacher{}
	}
	return teacher
}

// drawDocument answers with a document. Overtaken says that a confirmation was not noted.
func (s *Site) drawDocument(c echo.Context, status int, d roster.Document, overtaken bool) error {
	r := c.Request()
	teacher := reader(c)
	page, err := views.NewDocumentPage(d, teacher, s.clock.Now(), s.loc)
	if err != nil {
		return err
	}
	page.Overtaken = overtaken
	page.Base = viewerPath + "/documents/"
	if navigates(r) {
		page.Base = "/viewer/documents/"
	}
	page.ShiftCalendar = s.shiftCalendars(teacher.ID)
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, status, page.Title(r.Context()), views.DocumentView(page))
}

// confirmDocument notes that a teacher confirmed a publication and their own shifts.
func (s *Site) confirmDocument(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	teacher := reader(c)
	documentID := c.Param("documentId")
	err = s.store.Confirm(ctx, documentID, teacher.ID, f.text("shown"))
	if errors.Is(err, db.ErrSheetChanged) || errors.Is(err, db.ErrOutdated) {
		d, err := s.store.Document(ctx, documentID, teacher.ID)
		if err != nil {
			return err
		}
		return s.drawDocument(c, http.StatusConflict, d, true)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/viewer/documents/"+documentID)
}

// showDocumentPage answers the picture of one page, exactly as it was rendered for the publication; with ?download as a
// file to keep.
func (s *Site) showDocumentPage(c echo.Context) error {
	ctx := c.Request().Context()
	number, err := strconv.Atoi(c.Param("page"))
	if err != nil {
		return errors.Join(db.ErrNotFound, errors.New("no page number in the address"))
	}
	p, err := s.store.PublicationByDocument(ctx, c.Param("documentId"))
	if err != nil {
		return err
	}
	if number < 1 || number > len(p.Pages) {
		return fmt.Errorf("page %d of publication %d: %w", number, p.ID, db.ErrNotFound)
	}
	image := p.Pages[number-1]
	content, err := s.files.Get(image.SHA256)
	if err != nil {
		return fmt.Errorf("page %d of publication %d: %w", number, p.ID, err)
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "private, no-store")
	if c.Request().URL.Query().Has("download") {
		h.Set("Content-Disposition", attachment(views.PageFileName(ctx, p, image)))
	}
	return c.Blob(http.StatusOK, "image/png", content)
}

// attachment tells browsers to keep what comes under a name.
func attachment(name string) string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}
