package sheet_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shiftpost/db/roster"
	"shiftpost/jobs/render"
	"shiftpost/jobs/render/browsertest"
	"shiftpost/static"
	"shiftpost/views/sheet"
)

// draw returns the pictures of documents as they are published: PNG files.
func draw(t *testing.T, documents ...[]byte) [][]byte {
	t.Helper()
	r, err := render.New(render.Options{TempDir: filepath.Join(t.TempDir(), "chrome"), Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	var pictures [][]byte
	for _, d := range documents {
		drawn, err := r.PNG(t.Context(), render.Page{HTML: d, Width: sheet.Width, Scale: sheet.Scale})
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, drawn.PNG)
	}
	return pictures
}

// look opens documents in Chrome with the fonts of package static and returns what a script says of each.
func look[T any](t *testing.T, script string, documents ...[]byte) []T {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{number}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscan(r.PathValue("number"), &n); err != nil || n >= len(documents) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(documents[n])
	})
	mux.HandleFunc("GET "+render.FontStyles, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		_, _ = w.Write([]byte(static.FontCSS(func(name string) string { return "/fonts/" + name })))
	})
	mux.HandleFunc("GET /fonts/{name}", func(w http.ResponseWriter, r *http.Request) {
		file, ok := static.FontFile(r.PathValue("name"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(file)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	tab := browsertest.Start(t).Tab(t, sheet.Width, 800)
	var answers []T
	for i := range documents {
		tab.Open(fmt.Sprintf("%s/%d", server.URL, i))
		answers = append(answers, browsertest.Value[T](tab, "document.documentElement.getBoundingClientRect(), document.fonts.ready.then("+script+")"))
	}
	return answers
}

// outside lists the pieces of text that leave their box, overlap its edge, are broken although they must not be, or
// are drawn too small, and the boxes that are wider than the page.
const outside = `() => {
	const found = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text; text = walker.nextNode();) {
		if (!text.data.trim()) continue;
		const parent = text.parentElement, style = getComputedStyle(parent);
		const box = parent.closest('.entry, .name, .day, .band, .version, .on, .who, .what, header, section, footer, .nothing');
		const edge = box.getBoundingClientRect(), border = getComputedStyle(box);
		const left = edge.left + parseFloat(border.borderLeftWidth), right = edge.right - parseFloat(border.borderRightWidth);
		const range = document.createRange();
		range.selectNodeContents(text);
		const pieces = [...range.getClientRects()];
		for (const p of pieces)
			if (p.left < left || p.right > right || p.top < edge.top || p.bottom > edge.bottom)
				found.push('"' + text.data + '" leaves .' + box.className + ' by ' + [left - p.left, p.right - right, edge.top - p.top, p.bottom - edge.bottom].map(Math.round));
		if (style.whiteSpace === 'nowrap' && new Set(pieces.map(p => p.top)).size > 1) found.push('"' + text.data + '" is broken');
		if (parseFloat(style.fontSize) < 31) found.push('"' + text.data + '" has ' + style.fontSize);
	}
	const width = document.documentElement.scrollWidth;
	if (width !== 1080) found.push('the page is ' + width + ' px wide');
	return found;
}`

// extreme is a sheet on which everything is as long as it can be.
func extreme() roster.Sheet {
	names := []string{"勅使河原 桜子", strings.Repeat("長", roster.MaxNameLength), "マリア・フェルナンデス", "Christopher Montgomery-Featherstonehaugh", "渡邊 翔", "髙橋 﨑", "𠮷田 𠮷子"}
	var before, after []roster.SnapshotShift
	for day := 1; day <= 31; day++ {
		teacher := int64(day%7 + 1)
		before = append(before, shift(teacher, ekimae, day, "23:00-28:00"))
		after = append(after, shift(teacher, ekimae, day, "25:00-30:00"))
		if day%4 == 0 {
			before[day-1].ClassroomID = honmachi
		}
	}
	december := roster.Month{Year: 2027, Month: time.December}
	old, now := snapshot(december, names, before...), snapshot(december, names, after...)
	now.ChangedAt = time.Date(2027, 12, 25, 14, 59, 0, 0, time.UTC)
	old.Classrooms[0].Name = strings.Repeat("駅前", roster.MaxNameLength/2)
	now.Classrooms = old.Classrooms
	s := update(old, now)
	s.Number, s.Base = 123, &roster.Base{Number: 122, PublishedAt: changedAt, Certain: true}
	return s
}

func TestNoTextLeavesItsPlace(t *testing.T) {
	t.Parallel()
	sheets := samples(t)
	sheets["extreme"] = extreme()
	for n := 1; n <= sheet.MaxTeachers; n++ {
		s := extreme().Snapshot
		s.Shifts = slices.DeleteFunc(s.Shifts, func(x roster.SnapshotShift) bool { return x.TeacherID > int64(n) })
		sheets[fmt.Sprintf("%d teachers", n)] = update(snapshot(s.Month, nil), s)
	}

	var labels []string
	var documents [][]byte
	for label, s := range sheets {
		for _, p := range pages(t, s) {
			labels, documents = append(labels, label+", "+p.Title), append(documents, p.HTML)
		}
	}
	for i, found := range look[[]string](t, outside, documents...) {
		for _, f := range found {
			t.Errorf("%s: %s", labels[i], f)
		}
	}
}

func TestAnotherTimeChangesThePictureInsideItsCellOnly(t *testing.T) {
	t.Parallel()
	before := samples(t)["first"]
	cells := []struct{ day, teacher int }{
		{16, 2},
		{11, 2}, // a holiday, two shifts
		{9, 3},  // below the names
	}
	documents := [][]byte{pages(t, before)[0].HTML}
	for _, c := range cells {
		after := before
		after.Snapshot.Shifts = slices.Clone(before.Snapshot.Shifts)
		i := slices.IndexFunc(after.Snapshot.Shifts, func(x roster.SnapshotShift) bool {
			return x.Date.Day == c.day && x.TeacherID == int64(c.teacher)
		})
		after.Snapshot.Shifts[i].Times = roster.TimeRange{Start: 8*60 + 40, End: 10*60 + 20}
		documents = append(documents, pages(t, after)[0].HTML)
	}
	var pictures []*image.RGBA
	for _, drawn := range draw(t, documents...) {
		picture, err := png.Decode(bytes.NewReader(drawn))
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, picture.(*image.RGBA)) // as an opaque picture is decoded
	}
	for i, c := range cells {
		if a, b := pictures[0].Bounds(), pictures[i+1].Bounds(); a != b || a.Dx() != sheet.Width*sheet.Scale {
			t.Fatalf("the pictures measure %v and %v", a, b)
		}
		changed, box := difference(pictures[0], pictures[i+1]), cellBox(t, documents[0], c.day, c.teacher)
		if changed.Empty() || !changed.In(box) {
			t.Errorf("day %d, column %d: the pictures differ in %v, want inside the cell %v", c.day, c.teacher, changed, box)
		}
	}
}

// difference is the smallest rectangle around all pixels that differ, of two pictures of one size.
func difference(a, b *image.RGBA) image.Rectangle {
	var changed image.Rectangle
	for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
		from, to := a.PixOffset(a.Rect.Min.X, y), a.PixOffset(a.Rect.Max.X, y)
		if bytes.Equal(a.Pix[from:to], b.Pix[from:to]) {
			continue
		}
		for x := a.Rect.Min.X; x < a.Rect.Max.X; x++ {
			if a.RGBAAt(x, y) != b.RGBAAt(x, y) {
				changed = changed.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return changed
}

// cellBox is where the cell of a day and a column, both from 1, lies in the picture.
func cellBox(t *testing.T, document []byte, day, column int) image.Rectangle {
	t.Helper()
	edge := look[[4]float64](t, fmt.Sprintf(`() => {
		const cell = document.querySelectorAll('.row:not(.heads)')[%d].querySelectorAll('.cell')[%d];
		const r = cell.getBoundingClientRect();
		return [r.left, r.top, r.right, r.bottom];
	}`, day-1, column-1), document)[0]
	return image.Rect(int(edge[0]*sheet.Scale), int(edge[1]*sheet.Scale), int(edge[2]*sheet.Scale+0.5), int(edge[3]*sheet.Scale+0.5))
}

func TestTheBusiestMonthStillBecomesPictures(t *testing.T) {
	t.Parallel()
	var documents [][]byte
	for _, p := range pages(t, crowded()) {
		documents = append(documents, p.HTML)
	}
	for _, drawn := range draw(t, documents...) {
		picture, err := png.DecodeConfig(bytes.NewReader(drawn))
		if err != nil {
			t.Fatal(err)
		}
		if picture.Width != sheet.Width*sheet.Scale || picture.Width*picture.Height > render.MaxPixels {
			t.Errorf("a picture measures %d × %d", picture.Width, picture.Height)
		}
	}
}
