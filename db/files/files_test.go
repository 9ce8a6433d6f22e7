package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"shiftpost/db/files"
)

func open(t *testing.T) (*files.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	s, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func TestAFileIsPrivateAndNamedByItsContent(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	key, err := s.Put([]byte("picture"))
	if err != nil {
		t.Fatal(err)
	}
	if key != files.Key([]byte("picture")) {
		t.Errorf("key %s is not the content's hash", key)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, s.Path(key): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(path), got, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %d entries (%v), want the one file", len(entries), err)
	}
}

func TestOnlyKeysOpenFiles(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", ".", "../secret", strings.Repeat("0", 63), strings.Repeat("0", 64), strings.Repeat("A", 64)} {
		if _, err := s.Get(key); !errors.Is(err, files.ErrNotFound) {
			t.Errorf("Get(%q) = %v, want ErrNotFound", key, err)
		}
	}
}

func TestADamagedFileIsNotHandedOutAndIsWrittenAnew(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	key, err := s.Put([]byte("picture"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(key), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(key); !errors.Is(err, files.ErrDamaged) {
		t.Errorf("Get of a changed file = %v, want ErrDamaged", err)
	}
	if _, err := s.Put([]byte("picture")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(key); err != nil || string(got) != "picture" {
		t.Errorf("after writing anew Get = %q, %v", got, err)
	}
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	key := files.Key([]byte("picture"))
	// A folder in the file's place makes the rename fail for root too.
	if err := os.MkdirAll(filepath.Join(dir, key, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put([]byte("picture")); err == nil {
		t.Fatal("Put reported success")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %d entries (%v), want only the obstacle", len(entries), err)
	}
}

func TestPruneRemovesWhatIsOldAndUnwanted(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	wanted, _ := s.Put([]byte("wanted"))
	unwanted, _ := s.Put([]byte("unwanted"))
	fresh, _ := s.Put([]byte("fresh"))
	unfinished := filepath.Join(dir, wanted+".tmp-X")
	if err := os.WriteFile(unfinished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 1, 8, 0, 0, 0, 0, time.UTC)
	for path, at := range map[string]time.Time{s.Path(wanted): now.Add(-48 * time.Hour), s.Path(unwanted): now.Add(-48 * time.Hour), unfinished: now.Add(-48 * time.Hour), s.Path(fresh): now} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	n, err := s.Prune(now.Add(-24*time.Hour), func(key string) bool { return key == wanted })
	if err != nil || n != 2 {
		t.Errorf("Prune removed %d (%v), want the unwanted and the unfinished one", n, err)
	}
	for key, there := range map[string]bool{wanted: true, unwanted: false, fresh: true} {
		if _, err := s.Get(key); (err == nil) != there {
			t.Errorf("after Prune Get(%.6s) = %v, want there: %v", key, err, there)
		}
	}
}

func TestTwoPrunesAtOnceRemoveEachFileOnce(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	const pictures = 300
	for i := range pictures {
		if _, err := s.Put([]byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		n   int
		err error
	}
	results := make(chan result)
	start := make(chan struct{})
	for range 4 {
		go func() {
			<-start
			n, err := s.Prune(time.Now().Add(time.Hour), func(string) bool { return false })
			results <- result{n, err}
		}()
	}
	close(start)
	total := 0
	for range 4 {
		r := <-results
		total += r.n
		if r.err != nil {
			t.Error(r.err)
		}
	}
	if total != pictures {
		t.Errorf("%d files were removed, want %d", total, pictures)
	}
}
