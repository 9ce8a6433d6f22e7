package handlers

import (
	"net/http"
	"net/url"
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

func TestAPictureThatCannotBeStoredIsSaidSoAndDrawnAgainLater(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	hash := s.shown()
	path := s.files.Path(dbtest.Must(s.Store.PreviewPages(t.Context(), hash))(t)[0].SHA256)
	// As if it had never been drawn; and a folder in the file's place fails for root too.
	if _, err := s.Store.SessionDB().ExecContext(t.Context(), `DELETE FROM preview_pages`); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(path+"/obstacle", 0o700); err != nil {
		t.Fatal(err)
	}
	s.get(s.publishing()+"?wait").wantStatus(http.StatusServiceUnavailable).contains("画像を保存できませんでした", "問い合わせ番号").lacks("<img")
	s.post(s.month()+"/publications", fields("sheet_hash", hash)).wantStatus(http.StatusConflict)
	if left := dbtest.Must(os.ReadDir(s.dir))(t); len(left) != 1 {
		t.Errorf("%d files are left of a picture that was not stored", len(left)-1)
	}
	if n := len(s.publications()); n != 0 {
		t.Errorf("it was published %d times", n)
	}

	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	s.publish().wantStatus(http.StatusSeeOther)
	s.get("/publications/1/pages/1").wantStatus(http.StatusOK)
}

func TestWhileNothingCanBeWrittenPagesAreReadAndAPressSaysThatItFailed(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	hash := s.shown()
	readOnly := func(on string) {
		if _, err := s.Store.SessionDB().ExecContext(t.Context(), `PRAGMA query_only = `+on); err != nil {
			t.Fatal(err)
		}
	}
	readOnly("1")
	s.get(s.month()).wantStatus(http.StatusOK).contains("17:00")
	s.get(s.publishing()).wantStatus(http.StatusOK).contains("/previews/" + hash)
	for path, form := range map[string]url.Values{
		s.month() + "/publications": fields("sheet_hash", hash),
		s.month() + "/shifts":       s.typed(1, 13, "17-2130", "state", "confirmed"),
	} {
		s.post(path, form).wantStatus(http.StatusInternalServerError).contains("問い合わせ番号")
	}
	readOnly("0")
	if n := len(s.publications()); n != 0 || len(s.shifts()) != 1 || s.woken.Load() != 0 {
		t.Errorf("there are %d publications and %d shifts, want none and 1", n, len(s.shifts()))
	}
	s.publish().wantStatus(http.StatusSeeOther)
}
