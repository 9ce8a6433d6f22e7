package auth

import (
	"sync"
	"time"
)

const (
	// maxWrong is how many wrong passwords, or invitations, in a row are answered before the wait.
	maxWrong = 5
	// wait is how long nothing is tried after that; it is also how long a wrong try counts.
	wait = 15 * time.Minute
	// maxTracked bounds the memory that strangers can fill.
	maxTracked = 20000
)

// throttle counts wrong tries: passwords for each pair of e-mail address and network address, invitations for each LINE
// user. Somebody who guesses is stopped after maxWrong; an admin elsewhere is not locked out by it. It is kept in memory:
// a restart forgives.
type throttle struct {
	mu    sync.Mutex
	tries map[string]tries
}

type tries struct {
	wrong int
	last  time.Time
}

func newThrottle() *throttle { return &throttle{tries: map[string]tries{}} }

// take spends one try at now and returns how many are left after it. When none was left it returns until, the instant
// from which tries are taken again. The try is spent before the password is looked at, so that many requests at once
// are no way around the limit; forgive gives it back after a right one.
func (t *throttle) take(key string, now time.Time) (left int, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.tries[key]
	if !v.last.IsZero() && !now.Before(v.last.Add(wait)) {
		v = tries{}
	}
	if v.wrong >= maxWrong {
		return 0, v.last.Add(wait)
	}
	if len(t.tries) >= maxTracked {
		t.forget(now)
	}
	v.wrong++
	v.last = now
	t.tries[key] = v
	return maxWrong - v.wrong, time.Time{}
}

// forgive forgets the wrong tries of a key.
func (t *throttle) forgive(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tries, key)
}

// forget drops what no longer counts at now and, if that is nothing, the oldest entry.
func (t *throttle) forget(now time.Time) {
	oldest := ""
	for key, v := range t.tries {
		if !now.Before(v.last.Add(wait)) {
			delete(t.tries, key)
		} else if oldest == "" || v.last.Before(t.tries[oldest].last) {
			oldest = key
		}
	}
	if len(t.tries) >= maxTracked {
		delete(t.tries, oldest)
	}
}
