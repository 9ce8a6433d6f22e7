// Package files is the private store of rendered pictures: one folder, files named by the SHA-256 of their content,
// folder 0700 and files 0600. A file appears whole or not at all, is opened only by its key, and is handed out only
// when its content still matches the key.
package files

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("no such file")
	ErrDamaged  = errors.New("the file's content does not match its hash")
)

// temporary marks files that are still being written.
const temporary = ".tmp-"

var keyForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Store is an open folder. Its methods may be called from any goroutine.
type Store struct {
	root *os.Root
	dir  string
}

// Open opens the folder, making it if it does not exist.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make picture folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("close picture folder to others: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open picture folder: %w", err)
	}
	return &Store{root, dir}, nil
}

// Close closes the folder.
func (s *Store) Close() error { return s.root.Close() }

// Key returns the key that content has: its SHA-256 in hex.
func Key(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Path returns where the file of a key lies, for people who look for it by hand.
func (s *Store) Path(key string) string { return filepath.Join(s.dir, key) }

// Put writes content durably and returns its key. Content that is there already, and undamaged, is not written again.
func (s *Store) Put(content []byte) (string, error) {
	key := Key(content)
	if _, err := s.Get(key); err == nil {
		return key, nil
	}
	if err := s.write(key, content); err != nil {
		return "", fmt.Errorf("store picture %.12s: %w", key, err)
	}
	return key, nil
}

func (s *Store) write(key string, content []byte) (err error) {
	name := key + temporary + rand.Text()
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.root.Remove(name))
		}
	}()
	if _, err = f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = s.root.Rename(name, key); err != nil {
		return err
	}
	return s.syncDir()
}

// syncDir makes a rename survive a power cut.
func (s *Store) syncDir() error {
	d, err := s.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Get reads the content of a key. The error is ErrNotFound or ErrDamaged.
func (s *Store) Get(key string) ([]byte, error) {
	if !keyForm.MatchString(key) {
		return nil, ErrNotFound
	}
	content, err := s.root.ReadFile(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("picture %.12s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read picture %.12s: %w", key, err)
	}
	if Key(content) != key {
		return nil, fmt.Errorf("picture %.12s: %w", key, ErrDamaged)
	}
	return content, nil
}

// Prune removes the files that were last written before an instant and whose key keep does not want, unfinished ones
// too, and returns how many it removed.
func (s *Store) Prune(before time.Time, keep func(key string) bool) (int, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("list pictures: %w", err)
	}
	n := 0
	var errs []error
	for _, e := range entries {
		key, _, unfinished := strings.Cut(e.Name(), temporary)
		if !keyForm.MatchString(key) || (!unfinished && keep(key)) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !info.ModTime().Before(before) {
			continue
		}
		switch err := s.root.Remove(e.Name()); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist): // another sweep may be at it
			errs = append(errs, fmt.Errorf("remove picture %.12s: %w", key, err))
		}
	}
	return n, errors.Join(errs...)
}
