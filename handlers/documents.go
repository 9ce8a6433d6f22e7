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

// showDocument shows a publication: to a teacher with their own shifts, to an admin without.
func (s *Site) showDocument(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	teacher, err := auth.Teacher(ctx)
	if err != nil {
		teacher = roster.Teacher{}
	}
	d, err := s.store.Document(ctx, c.Param("documentId"), teacher.ID)
	if err != nil {
		return err
	}
	page, err := views.NewDocumentPage(d, teacher, s.clock.Now(), s.loc)
	if err != nil {
		return err
	}
	page.Base = viewerPath + "/documents/"
	if r.Header.Get("Sec-Fetch-Dest") == "document" {
		page.Base = "/viewer/documents/"
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, http.StatusOK, page.Title(ctx), views.DocumentView(page))
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
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": views.PageFileName(ctx, p, image)}))
	}
	return c.Blob(http.StatusOK, "image/png", content)
}
