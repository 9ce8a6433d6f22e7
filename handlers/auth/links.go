package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// linkLifetime is how long a sign-in link can be used.
const linkLifetime = 30 * time.Minute

// links are the sign-in links that nobody has used yet, by the hash of their token. They live in memory: whoever starts
// the program gets one, and a restart makes a new one.
type links struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]link
}

type link struct {
	adminID int64
	until   time.Time
}

func newLinks() *links { return &links{open: map[[sha256.Size]byte]link{}} }

// issue makes a token for one sign-in of an admin until linkLifetime after now.
func (l *links) issue(adminID int64, now time.Time) (token string) {
	token = rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	for sum, v := range l.open {
		if !now.Before(v.until) {
			delete(l.open, sum)
		}
	}
	l.open[sha256.Sum256([]byte(token))] = link{adminID, now.Add(linkLifetime)}
	return token
}

// valid reports whether a token could be used at now. It does not use it up.
func (l *links) valid(token string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.open[sha256.Sum256([]byte(token))]
	return ok && now.Before(v.until)
}

// use spends a token and returns whose it was.
func (l *links) use(token string, now time.Time) (adminID int64, ok bool) {
	sum := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.open[sum]
	delete(l.open, sum)
	return v.adminID, ok && now.Before(v.until)
}
