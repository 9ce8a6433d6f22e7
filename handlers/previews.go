package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/render"
	"shiftpost/views"
	"shiftpost/views/sheet"
)

// Renderer draws a page of HTML as a picture. *render.Renderer is one.
type Renderer interface {
	PNG(ctx context.Context, p render.Page) (render.Image, error)
}

// maxPictureBytes is the most that a phone is asked to load for one picture.
const maxPictureBytes = 10 << 20

// Reasons why a picture that was drawn cannot be used.
var (
	errPicture = errors.New("the picture is not what was asked for")
	errStoring = errors.New("the picture cannot be stored")
)

// draw returns the pictures of a sheet, drawing and storing them unless they are there. Who asks for the same sheet at
// the same time waits for the same pictures, and they are finished even if everybody stops waiting.
func (s *Site) draw(ctx context.Context, of roster.Sheet) ([]roster.Image, error) {
	hash := of.Hash()
	done := s.drawing.DoChan(hash, func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		pages, err := s.store.PreviewPages(ctx, hash)
		if err != nil {
			return nil, err
		}
		if s.stored(pages) {
			return pages, nil
		}
		return s.drawAnew(ctx, of, hash)
	})
	select {
	case r := <-done:
		pages, _ := r.Val.([]roster.Image)
		return pages, r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// stored reports whether pages are drawn and their files whole.
func (s *Site) stored(pages []roster.Image) bool {
	for _, p := range pages {
		if _, err := s.files.Get(p.SHA256); err != nil {
			return false
		}
	}
	return len(pages) > 0
}

// drawAnew draws all pages before it stores one, and stores all before it says so in the database.
func (s *Site) drawAnew(ctx context.Context, of roster.Sheet, hash string) ([]roster.Image, error) {
	htmls, err := sheet.Pages(ctx, of, s.loc, render.FontStyles)
	if err != nil {
		return nil, err
	}
	var images []render.Image
	for i, p := range htmls {
		image, err := s.renderer.PNG(ctx, render.Page{HTML: p.HTML, Width: sheet.Width, Scale: sheet.Scale})
		if err != nil {
			return nil, fmt.Errorf("draw page %d of the sheet of %s: %w", i+1, of.Snapshot.Month, err)
		}
		if err := checkPicture(image); err != nil {
			return nil, fmt.Errorf("page %d of the sheet of %s: %w", i+1, of.Snapshot.Month, err)
		}
		images = append(images, image)
	}
	var pages []roster.Image
	for i, image := range images {
		key, err := s.files.Put(image.PNG)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errStoring, err)
		}
		pages = append(pages, roster.Image{
			Page: i + 1, Title: htmls[i].Title, SHA256: key, Width: image.Width, Height: image.Height, SizeBytes: int64(len(image.PNG)),
		})
	}
	if err := s.store.SavePreview(ctx, hash, pages); err != nil {
		return nil, fmt.Errorf("%w: %w", errStoring, err)
	}
	return pages, nil
}

// checkPicture refuses what is no whole PNG of the width of a sheet, or too big. The error is errPicture.
func checkPicture(image render.Image) error {
	if n := len(image.PNG); n > maxPictureBytes {
		return fmt.Errorf("%w: %d bytes", errPicture, n)
	}
	c, err := png.DecodeConfig(bytes.NewReader(image.PNG))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errPicture, err)
	case c.Width != sheet.Width*sheet.Scale || c.Height < 1 || c.Width != image.Width || c.Height != image.Height:
		return fmt.Errorf("%w: %d × %d, said to be %d × %d", errPicture, c.Width, c.Height, image.Width, image.Height)
	case !bytes.HasSuffix(image.PNG, []byte("IEND\xaeB`\x82")):
		return fmt.Errorf("%w: cut off", errPicture)
	}
	return nil
}

// renderFailure names why there is no picture: the key of its sentences below "publications.render.".
func renderFailure(err error) string {
	for _, f := range []struct {
		err error
		key string
	}{
		{render.ErrNoChrome, "chrome"},
		{render.ErrTimeout, "timeout"},
		{render.ErrCrashed, "crashed"},
		{render.ErrTooBig, "too_big"},
		{render.ErrFont, "font"},
		{render.ErrClosed, "stopping"},
		{errPicture, "picture"},
		{errStoring, "storing"},
	} {
		if errors.Is(err, f.err) {
			return f.key
		}
	}
	return "other"
}

// previewPictures are the pages of a preview with their addresses.
func previewPictures(hash string, pages []roster.Image) []views.Picture {
	var list []views.Picture
	for _, p := range pages {
		list = append(list, views.Picture{Image: p, URL: "/previews/" + hash + "/pages/" + strconv.Itoa(p.Page)})
	}
	return list
}

// showPreviewPage answers a picture of a sheet that may be published.
func (s *Site) showPreviewPage(c echo.Context) error {
	pages, err := s.store.PreviewPages(c.Request().Context(), c.Param("sheet_hash"))
	if err != nil {
		return err
	}
	return s.sendPicture(c, pages)
}

// sendPicture answers the one of the pages that the address names. Bytes that do not match their hash are never sent:
// then the error is files.ErrDamaged, and files.ErrNotFound if the file is gone. Browsers ask again each time, so
// nothing is seen after signing out, and get the bytes only if they do not have them.
func (s *Site) sendPicture(c echo.Context, pages []roster.Image) error {
	number, ok := parseID(c.Param("page"))
	if !ok || number > int64(len(pages)) {
		return fmt.Errorf("picture %.20q: %w", c.Param("page"), db.ErrNotFound)
	}
	page := pages[number-1]
	content, err := s.files.Get(page.SHA256)
	if err != nil {
		return fmt.Errorf("page %d: %w", page.Page, err)
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "private, no-cache")
	etag := `"` + page.SHA256 + `"`
	h.Set("ETag", etag)
	if c.Request().Header.Get("If-None-Match") == etag {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, "image/png", content)
}
