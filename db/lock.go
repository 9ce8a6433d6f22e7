package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked tells that another process serves the data folder.
var ErrLocked = errors.New("another process already serves this data folder")

// Lock is the right to serve a data folder. The system takes it back when the process ends, however it ends.
type Lock struct{ f *os.File }

// LockDir takes the lock of a data folder, which it makes if it does not exist. The error is ErrLocked if another
// process has it.
func LockDir(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return &Lock{f}, nil
}

// Release gives the lock back.
func (l *Lock) Release() error { return l.f.Close() }
