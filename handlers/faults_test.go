package handlers

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
)

func TestAMonthIsNotPublishedWithAPictureThatIsGoneOrChanged(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"gone":    os.Remove,
		"changed": func(path string) error { return os.WriteFile(path, []byte("\x89PNG of somebody else"), 0o600) },
		"cut off": func(path string) error { return os.Truncate(path, 100) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t)
			s.Confirm(t, 0, 12, "17-2130")
			hash := s.shown()
			page := dbtest.Must(s.Store.PreviewPages(t.Context(), hash))(t)[0]
			if err := spoil(s.files.Path(page.SHA256)); err != nil {
				t.Fatal(err)
			}
			s.get("/previews/" + hash + "/pages/1").wantStatus(http.StatusInternalServerError).contains("画像を読み出せませんでした")
			a := s.post(s.month()+"/publications", fields("sheet_hash", hash)).wantStatus(http.StatusConflict).contains(`hx-trigger="load"`).lacks("<img")
			if n := len(s.publications()); n != 0 {
				t.Fatalf("it was published %d times: %.300s", n, a.body)
			}
			if len(dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{}))(t)) != 0 || s.woken.Load() != 0 {
				t.Error("something is to be sent")
			}

			// The page asks for itself again, which draws anew, and then it works.
			if s.shown() != hash {
				t.Error("the month is another one")
			}
			s.post(s.month()+"/publications", fields("sheet_hash", hash)).wantStatus(http.StatusSeeOther)
			if a := s.get("/publications/1/pages/1").wantStatus(http.StatusOK); !strings.HasPrefix(a.body, "\x89PNG") || len(a.body) != int(page.SizeBytes) {
				t.Errorf("the published picture has %d bytes, want %d", len(a.body), page.SizeBytes)
			}
		})
	}
}
