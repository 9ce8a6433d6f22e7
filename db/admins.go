package db

import (
	"context"
	"strings"

	"shiftpost/db/roster"
)

// AdminEdit is a new admin.
type AdminEdit struct {
	Email        string // kept in lower case
	Name         string
	PasswordHash string // argon2id in PHC form
}

const adminColumns = `id, email, name, password_hash, archived_at`

func scanAdmin(r scanner) (a roster.Admin, err error) {
	err = r.Scan(&a.ID, &a.Email, &a.Name, &a.PasswordHash, scanInstant(&a.ArchivedAt))
	return a, err
}

// Admin returns an admin who may sign in. The error is ErrNotFound if there is none or if they were archived.
func (s *Store) Admin(ctx context.Context, adminID int64) (roster.Admin, error) {
	a, err := one(ctx, s.read, scanAdmin, `SELECT `+adminColumns+` FROM admins WHERE id = ? AND archived_at IS NULL`, adminID)
	return a, wrap(err, "admin %d", adminID)
}

// AdminByEmail returns the admin with that address, in any case of letters, who may sign in. The error is ErrNotFound
// if there is none.
func (s *Store) AdminByEmail(ctx context.Context, email string) (roster.Admin, error) {
	a, err := one(ctx, s.read, scanAdmin, `SELECT `+adminColumns+` FROM admins WHERE email = ? AND archived_at IS NULL`, NormalizeEmail(email))
	return a, wrap(err, "admin by e-mail")
}

// CreateAdmin adds an admin. The error is ErrNameTaken if the address is in use.
func (s *Store) CreateAdmin(ctx context.Context, e AdminEdit) (a roster.Admin, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		adminID, err := t.insert(`INSERT INTO admins (email, name, password_hash, created_at) VALUES (?, ?, ?, ?)`,
			NormalizeEmail(e.Email), e.Name, e.PasswordHash, at(t.now))
		if err != nil {
			return nameTaken(err)
		}
		a, err = one(t.ctx, t, scanAdmin, `SELECT `+adminColumns+` FROM admins WHERE id = ?`, adminID)
		return err
	})
	return a, wrap(err, "create admin")
}

// SetAdminPassword changes an admin's password, which ends their sessions. The error is ErrNotFound if nobody has that
// address.
func (s *Store) SetAdminPassword(ctx context.Context, email, passwordHash string) error {
	err := s.inTx(ctx, func(t *tx) error {
		return t.execOne(ErrNotFound, `UPDATE admins SET password_hash = ? WHERE email = ? AND archived_at IS NULL`, passwordHash, NormalizeEmail(email))
	})
	return wrap(err, "set password")
}

// NormalizeEmail writes an address the way it is kept: without spaces around it, in lower case.
func NormalizeEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
