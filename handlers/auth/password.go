package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The cost of a password's hash: the second choice of the OWASP Password Storage Cheat Sheet for Argon2id
// (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html, checked 2026-12-01), about 140 ms
// on one busy core.
const (
	memoryKiB   = 19 * 1024
	passes      = 2
	lanes       = 1
	saltLength  = 16
	keyLength   = 32
	maxMemory   = 256 * 1024 // bounds of what a stored hash may ask for
	maxPasses   = 16
	maxLanes    = 8
	maxHashText = 512
)

// Limits of a password, in characters. The upper one only keeps the work of hashing bounded.
const (
	MinPasswordLength = 10
	MaxPasswordLength = 128
)

// What can be wrong with a new password.
var (
	ErrPasswordShort = errors.New("the password has fewer than 10 characters")
	ErrPasswordLong  = errors.New("the password has more than 128 characters")
	ErrPasswordEmail = errors.New("the password is the e-mail address")
)

// CheckPassword says whether a new password is good enough for the admin with that address. The error is one of the
// ErrPassword values. Length is the only measure: rules about digits and signs make passwords worse (NIST SP 800-63B,
// section 3.1.1.2, https://pages.nist.gov/800-63-4/sp800-63b.html, checked 2026-12-01).
func CheckPassword(password, email string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPasswordLength:
		return ErrPasswordShort
	case n > MaxPasswordLength:
		return ErrPasswordLong
	case strings.EqualFold(password, email):
		return ErrPasswordEmail
	}
	return nil
}

// HashPassword returns the Argon2id hash of a password in PHC form: $argon2id$v=19$m=…,t=…,p=…$salt$key. Every call has
// a new salt.
func HashPassword(password string) string {
	salt := make([]byte, saltLength)
	rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, passes, memoryKiB, lanes, keyLength)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memoryKiB, passes, lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// strangerHash is checked when nobody has the address, so that the answer takes as long as for somebody. Its key is
// random bytes: no password fits.
const strangerHash = "$argon2id$v=19$m=19456,t=2,p=1$FxuAde7s/kbEyHMzzDGYJA$c7v0mPGXfhnRlLf+84EmnpTZp3BQFXEZin9sy61vDHQ"

// errHash tells that a stored text is no hash of ours.
var errHash = errors.New("not an argon2id hash")

// verifyPassword reports whether password is the one that was hashed. It takes the costs from the hash, so those of
// older ones stay valid, and compares in constant time.
func verifyPassword(hash, password string) (bool, error) {
	if len(hash) > maxHashText {
		return false, errHash
	}
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false, errHash
	}
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false, errHash
	}
	if memory < 8 || memory > maxMemory || time < 1 || time > maxPasses || threads < 1 || threads > maxLanes {
		return false, errHash
	}
	salt, err := base64.RawStdEncoding.Strict().DecodeString(parts[4])
	if err != nil || len(salt) < 8 {
		return false, errHash
	}
	want, err := base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if err != nil || len(want) < 16 {
		return false, errHash
	}
	got := argon2.IDKey([]byte(password), salt, time, memory, threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}
