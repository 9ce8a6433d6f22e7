// Package queue is a durable job queue on database/sql and SQLite. A job is {kind, subject id} and when to run; what
// the subject is, it does not know. Every function works inside the caller's transaction, so that a job appears and
// ends together with the rows it is about.
//
// A job is ready until Claim leases it to an owner, and leased until Finish, RetryAt or Bury ends the lease. A lease
// that runs out, or whose owner is gone, is taken over; the functions that end a lease name its owner and change
// nothing when it was lost.
//
// Jobs of one lane run one at a time; jobs of different lanes do not wait for each other.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors of this package.
var (
	// ErrNone tells that no job is due.
	ErrNone = errors.New("no job is due")
	// ErrLeaseLost tells that the job is no longer leased to this owner.
	ErrLeaseLost = errors.New("the lease was lost")
)

// State is the state of a job.
type State string

// The states of a job.
const (
	Ready  State = "ready"  // waits for its instant: Claim leases it
	Leased State = "leased" // a worker holds it: Finish, RetryAt, Bury or the end of the lease
	Done   State = "done"   // the end; Prune removes it
	Dead   State = "dead"   // a dead letter: runs again only when a person says so (Revive)
)

// Job is a unit of background work.
type Job struct {
	ID         int64
	Kind       string
	SubjectID  int64
	Lane       string
	RunAt      time.Time
	PassesHold bool
	// TakenOver is the owner whose run-out lease this claim took over, empty for a ready job.
	TakenOver string
}

// Tx is what the queue needs of a transaction.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Querier is what the queue needs to read.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// NewJob says what to enqueue.
type NewJob struct {
	Kind       string
	SubjectID  int64
	Lane       string    // opaque; must not name a person
	RunAt      time.Time // UTC
	PassesHold bool      // runs although its kind is held
}

// Enqueue adds a ready job, or makes the dead one of the same kind and subject ready again. It fails when that job is
// ready or leased already: one subject has one job.
func Enqueue(ctx context.Context, tx Tx, now time.Time, j NewJob) error {
	res, err := tx.ExecContext(ctx, `INSERT INTO jobs (kind, subject_id, lane, state, run_at, passes_hold, created_at, updated_at)
		VALUES (?1, ?2, ?3, 'ready', ?4, ?5, ?6, ?6)
		ON CONFLICT (kind, subject_id) WHERE state <> 'done' DO UPDATE SET state = 'ready', lane = ?3, run_at = ?4, passes_hold = ?5, updated_at = ?6
		WHERE state = 'dead'`,
		j.Kind, j.SubjectID, j.Lane, j.RunAt.UnixMilli(), j.PassesHold, now.UnixMilli())
	if err != nil {
		return fmt.Errorf("enqueue %s %d: %w", j.Kind, j.SubjectID, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = fmt.Errorf("enqueue %s %d: %w", j.Kind, j.SubjectID, errHasJob)
	}
	return err
}

// errHasJob tells that a subject has a job that is not over.
var errHasJob = errors.New("it has a job already")

// Claim leases the ready job that has been due longest at now, until now+lease, to owner. A leased job whose lease has
// run out counts as due. Jobs of the kinds in held are passed over unless they pass holds, and so are jobs whose lane
// has a leased job. The error is ErrNone when nothing is due.
func Claim(ctx context.Context, tx Tx, now time.Time, owner string, lease time.Duration, held []string) (Job, error) {
	job, err := claimRunOut(ctx, tx, now, owner, lease)
	if !errors.Is(err, ErrNone) {
		return job, err
	}
	return ClaimReady(ctx, tx, now, owner, lease, held)
}

// ClaimReady is Claim without a look for leases that have run out: for another job in the same transaction.
func ClaimReady(ctx context.Context, tx Tx, now time.Time, owner string, lease time.Duration, held []string) (Job, error) {
	query := `UPDATE jobs SET state = 'leased', owner = ?, lease_until = ?, updated_at = ?
		WHERE id = (SELECT r.id FROM jobs r WHERE r.state = 'ready' AND r.run_at <= ?
			AND NOT EXISTS (SELECT 1 FROM jobs l WHERE l.lane = r.lane AND l.state = 'leased')` + notHeld(held) + `
			ORDER BY r.run_at, r.id LIMIT 1)
		RETURNING id, kind, subject_id, lane, run_at, passes_hold`
	args := []any{owner, now.Add(lease).UnixMilli(), now.UnixMilli(), now.UnixMilli()}
	for _, k := range held {
		args = append(args, k)
	}
	return scanClaim(tx.QueryRowContext(ctx, query, args...), "")
}

// claimRunOut takes over one lease that has run out. Its former owner is read first, since RETURNING shows only new
// values; both happen in the caller's transaction.
func claimRunOut(ctx context.Context, tx Tx, now time.Time, owner string, lease time.Duration) (Job, error) {
	var id int64
	var before string
	err := tx.QueryRowContext(ctx, `SELECT id, owner FROM jobs WHERE state = 'leased' AND lease_until <= ? ORDER BY lease_until LIMIT 1`,
		now.UnixMilli()).Scan(&id, &before)
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, ErrNone
	}
	if err != nil {
		return Job{}, fmt.Errorf("look for run-out leases: %w", err)
	}
	return scanClaim(tx.QueryRowContext(ctx, `UPDATE jobs SET owner = ?, lease_until = ?, updated_at = ? WHERE id = ?
		RETURNING id, kind, subject_id, lane, run_at, passes_hold`, owner, now.Add(lease).UnixMilli(), now.UnixMilli(), id), before)
}

func notHeld(held []string) string {
	if len(held) == 0 {
		return ""
	}
	return " AND (r.passes_hold = 1 OR r.kind NOT IN (?" + strings.Repeat(", ?", len(held)-1) + "))"
}

func scanClaim(row *sql.Row, before string) (Job, error) {
	j := Job{TakenOver: before}
	var runAt int64
	err := row.Scan(&j.ID, &j.Kind, &j.SubjectID, &j.Lane, &runAt, &j.PassesHold)
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, ErrNone
	}
	if err != nil {
		return Job{}, fmt.Errorf("claim job: %w", err)
	}
	j.RunAt = time.UnixMilli(runAt).UTC()
	return j, nil
}

// Renew prolongs every lease of owner until the given instant.
func Renew(ctx context.Context, tx Tx, owner string, until time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE jobs SET lease_until = ? WHERE state = 'leased' AND owner = ?`, until.UnixMilli(), owner); err != nil {
		return fmt.Errorf("renew leases: %w", err)
	}
	return nil
}

// Finish ends a job that owner holds. The error is ErrLeaseLost if it does not.
func Finish(ctx context.Context, tx Tx, now time.Time, jobID int64, owner string) error {
	return end(ctx, tx, "finish", jobID, `UPDATE jobs SET state = 'done', owner = NULL, lease_until = NULL, updated_at = ?
		WHERE id = ? AND state = 'leased' AND owner = ?`, now.UnixMilli(), jobID, owner)
}

// RetryAt gives a job that owner holds back to the queue, to run at an instant. The error is ErrLeaseLost if it does
// not hold it.
func RetryAt(ctx context.Context, tx Tx, now time.Time, jobID int64, owner string, runAt time.Time) error {
	return end(ctx, tx, "reschedule", jobID, `UPDATE jobs SET state = 'ready', owner = NULL, lease_until = NULL, run_at = ?, passes_hold = 0, updated_at = ?
		WHERE id = ? AND state = 'leased' AND owner = ?`, runAt.UnixMilli(), now.UnixMilli(), jobID, owner)
}

// Bury makes a job that owner holds a dead letter. The error is ErrLeaseLost if it does not hold it.
func Bury(ctx context.Context, tx Tx, now time.Time, jobID int64, owner string) error {
	return end(ctx, tx, "bury", jobID, `UPDATE jobs SET state = 'dead', owner = NULL, lease_until = NULL, updated_at = ?
		WHERE id = ? AND state = 'leased' AND owner = ?`, now.UnixMilli(), jobID, owner)
}

func end(ctx context.Context, tx Tx, what string, jobID int64, query string, args ...any) error {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s job %d: %w", what, jobID, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("%s job %d: %w", what, jobID, err)
	}
	if n != 1 {
		return fmt.Errorf("%s job %d: %w", what, jobID, ErrLeaseLost)
	}
	return nil
}

// Withdraw ends the ready or dead job of a subject without running it; a leased one is left alone. It reports whether
// there was one.
func Withdraw(ctx context.Context, tx Tx, now time.Time, kind string, subjectID int64) (bool, error) {
	res, err := tx.ExecContext(ctx, `UPDATE jobs SET state = 'done', updated_at = ? WHERE kind = ? AND subject_id = ? AND state IN ('ready', 'dead')`,
		now.UnixMilli(), kind, subjectID)
	if err != nil {
		return false, fmt.Errorf("withdraw job of %s %d: %w", kind, subjectID, err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// Orphans returns the leased jobs of any other owner.
func Orphans(ctx context.Context, tx Tx, owner string) ([]Job, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, kind, subject_id, lane, owner FROM jobs WHERE state = 'leased' AND owner <> ?`, owner)
	if err != nil {
		return nil, fmt.Errorf("look for orphans: %w", err)
	}
	defer rows.Close()
	var jobs []Job
	for rows.Next() {
		var j Job
		if err := rows.Scan(&j.ID, &j.Kind, &j.SubjectID, &j.Lane, &j.TakenOver); err != nil {
			return nil, fmt.Errorf("look for orphans: %w", err)
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

// Adopt makes owner the holder of a job that another owner left leased.
func Adopt(ctx context.Context, tx Tx, now time.Time, j Job, owner string) error {
	return end(ctx, tx, "adopt", j.ID, `UPDATE jobs SET owner = ?, updated_at = ? WHERE id = ? AND state = 'leased' AND owner = ?`,
		owner, now.UnixMilli(), j.ID, j.TakenOver)
}

// NextDue returns when the next job that may run by itself is due, or when the next lease runs out, whichever is
// earlier; jobs that are held or whose lane is busy do not count. The error is ErrNone when there is none.
func NextDue(ctx context.Context, q Querier, held []string) (time.Time, error) {
	args := make([]any, 0, len(held))
	for _, k := range held {
		args = append(args, k)
	}
	var due sql.NullInt64
	err := q.QueryRowContext(ctx, `SELECT min(due) FROM (
		SELECT * FROM (SELECT r.run_at AS due FROM jobs r WHERE r.state = 'ready'
			AND NOT EXISTS (SELECT 1 FROM jobs l WHERE l.lane = r.lane AND l.state = 'leased')`+notHeld(held)+`
			ORDER BY r.run_at, r.id LIMIT 1)
		UNION ALL SELECT min(lease_until) FROM jobs WHERE state = 'leased')`, args...).Scan(&due)
	if err != nil {
		return time.Time{}, fmt.Errorf("look for the next job: %w", err)
	}
	if !due.Valid {
		return time.Time{}, ErrNone
	}
	return time.UnixMilli(due.Int64).UTC(), nil
}

// Prune removes at most limit jobs that were done before an instant and returns how many it removed.
func Prune(ctx context.Context, tx Tx, before time.Time, limit int) (int, error) {
	res, err := tx.ExecContext(ctx, `DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 'done' AND updated_at < ? LIMIT ?)`,
		before.UnixMilli(), limit)
	if err != nil {
		return 0, fmt.Errorf("prune jobs: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
