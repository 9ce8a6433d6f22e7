package db_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/migrations"
	"shiftpost/db/roster"
)

// migrated opens the school's file as an earlier version of the program left it.
func migrated(t *testing.T, dir string, version int64) (*sql.DB, *goose.Provider) {
	t.Helper()
	w := dbtest.Must(sql.Open("sqlite3", "file:"+filepath.Join(dir, db.FileName)+"?_journal_mode=WAL&_foreign_keys=on&_txlock=immediate"))(t)
	t.Cleanup(func() { w.Close() })
	w.SetMaxOpenConns(1)
	p := dbtest.Must(goose.NewProvider(goose.DialectSQLite3, w, migrations.FS))(t)
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	return w, p
}

func TestAnOlderDatabaseKeepsItsDeliveriesAndTakesReceiptRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := migrated(t, dir, 9)
	for _, q := range []string{
		`INSERT INTO groups (id, name, lead_minutes, created_at, updated_at) VALUES (1, 'グループ', 120, 1, 1)`,
		`INSERT INTO classrooms (id, group_id, name, short_name, position, created_at, updated_at) VALUES (1, 1, '教室', '教', 1, 1, 1)`,
		`INSERT INTO teachers (id, classroom_id, name, position, line_user_id, created_at, updated_at) VALUES (1, 1, '佐藤 花子', 1, 'U1', 1, 1)`,
		`INSERT INTO shifts (id, teacher_id, classroom_id, date, start_minutes, end_minutes, state, shown_at, changed_at, created_at, updated_at) VALUES (1, 1, 1, '2027-01-08', 600, 700, 'confirmed', 1, 1, 1, 1)`,
		`INSERT INTO deliveries (kind, state, retry_key, teacher_id, shift_id, shift_version, line_id, body, first_try_at, due_at, deadline_at, created_at, updated_at, finished_at) VALUES ('shift_reminder', 'sent', 'k', 1, 1, 1, 'U1', x'7b7d', 1, 1, 2, 1, 1, 1)`,
	} {
		if _, err := w.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store, _ := dbtest.Open(t, func(o *db.Options) { o.Dir = dir })
	all := dbtest.Must(store.Deliveries(t.Context(), db.DeliveryFilter{}))(t)
	if len(all) != 1 || all[0].Kind != roster.ShiftReminder || all[0].AskedID != 0 {
		t.Fatalf("the deliveries are %+v", all)
	}
	if d := dbtest.Must(store.Delivery(t.Context(), all[0].ID))(t); string(d.Body) != "{}" {
		t.Errorf("its message is %q", d.Body)
	}
	request := `INSERT INTO deliveries (kind, state, retry_key, teacher_id, asked_id, line_id, due_at, created_at, updated_at, finished_at) VALUES (?, 'sent', 'k', 1, ?, ?, 1, 1, 1, 1)`
	publication := dbtest.Must(store.SessionDB().ExecContext(t.Context(), `INSERT INTO publications (group_id, month, number, document_id, sheet, sheet_hash, snapshot_hash, published_at) VALUES (1, '2027-01', 1, 'd', '{}', 'h', 'h', ?)`, dbtest.Start.UnixMilli()))(t)
	id := dbtest.Must(publication.LastInsertId())(t)
	for _, c := range []struct {
		kind  string
		asked any
		line  string
		taken bool
	}{
		{"receipt_request", id, "U1", true}, {"receipt_request", nil, "U1", false}, {"receipt_request", id, "", false}, {"shift_reminder", id, "U1", false}, {"another", nil, "U1", false},
	} {
		if _, err := store.SessionDB().ExecContext(t.Context(), request, c.kind, c.asked, c.line); (err == nil) != c.taken {
			t.Errorf("%s asking about %v for %q: %v", c.kind, c.asked, c.line, err)
		}
	}
	var ok string
	if err := store.SessionDB().QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("the file is %q, %v", ok, err)
	}
}

func TestEveryMigrationCanBeTakenBackAndMadeAgain(t *testing.T) {
	t.Parallel()
	w, p := migrated(t, t.TempDir(), 10)
	if _, err := p.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := w.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tables are left, %v", left, err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}
