package db_test

import (
	"errors"
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
)

func TestAdminIsFoundByAddressInAnyCase(t *testing.T) {
	t.Parallel()
	store, _ := dbtest.Open(t)
	ctx := t.Context()
	a := dbtest.Must(store.CreateAdmin(ctx, db.AdminEdit{Email: " Manager@Mihon-Juku.Example ", Name: "見本 室長", PasswordHash: "hash"}))(t)
	if a.Email != "manager@mihon-juku.example" {
		t.Errorf("address is kept as %q", a.Email)
	}
	if found, err := store.AdminByEmail(ctx, "MANAGER@mihon-juku.example"); err != nil || found != a {
		t.Errorf("found %+v, %v, want %+v", found, err, a)
	}
	if found, err := store.Admin(ctx, a.ID); err != nil || found != a {
		t.Errorf("found %+v, %v, want %+v", found, err, a)
	}
	if _, err := store.AdminByEmail(ctx, "nobody@mihon-juku.example"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("unknown address: %v, want ErrNotFound", err)
	}
	if _, err := store.CreateAdmin(ctx, db.AdminEdit{Email: "manager@MIHON-juku.example", Name: "別人", PasswordHash: "hash"}); !errors.Is(err, db.ErrNameTaken) {
		t.Errorf("second admin of an address: %v, want ErrNameTaken", err)
	}
}

func TestNewPasswordReplacesTheOld(t *testing.T) {
	t.Parallel()
	store, _ := dbtest.Open(t)
	ctx := t.Context()
	dbtest.Must(store.CreateAdmin(ctx, db.AdminEdit{Email: "manager@mihon-juku.example", Name: "見本 室長", PasswordHash: "old"}))(t)
	if err := store.SetAdminPassword(ctx, "Manager@mihon-juku.example", "new"); err != nil {
		t.Fatal(err)
	}
	if a := dbtest.Must(store.AdminByEmail(ctx, "manager@mihon-juku.example"))(t); a.PasswordHash != "new" {
		t.Errorf("hash is %q, want new", a.PasswordHash)
	}
	if err := store.SetAdminPassword(ctx, "nobody@mihon-juku.example", "new"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("unknown address: %v, want ErrNotFound", err)
	}
}
