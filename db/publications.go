package db

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"shiftpost/db/roster"
)

// Reasons why a month cannot be published.
var (
	ErrSheetChanged     = errors.New("the month changed since it was shown")
	ErrSheetNotRendered = errors.New("the picture was not rendered")
	ErrUnchanged        = errors.New("the month is unchanged since its newest publication")
	ErrNothingToPublish = errors.New("the month has no confirmed shift")
)

// Preview is a group's month as it would be published now.
type Preview struct {
	Group     roster.Group
	Month     roster.Month
	Sheet     roster.Sheet
	Newest    *roster.Publication // nil if the month was never published
	Unchanged bool                // the newest publication shows the same
	Pages     []roster.Image      // empty while the picture is not rendered
	Drafts    []DraftShift        // not included
	NotLinked []roster.Teacher    // in the sheet, but without LINE
}

// Empty reports whether there is nothing to publish: no confirmed shift, and none that was taken away.
func (p Preview) Empty() bool { return len(p.Sheet.Snapshot.Shifts) == 0 && p.Newest == nil }

// DraftShift is a draft with the names it is shown under.
type DraftShift struct {
	roster.Shift
	Teacher   string
	Classroom string
}

// Preview reads what publishing a group's month now would make. The error is ErrNotFound if there is no such group.
func (s *Store) Preview(ctx context.Context, groupID int64, month roster.Month) (Preview, error) {
	var p Preview
	err := s.inRead(ctx, func(q querier) (err error) {
		p, err = preview(ctx, q, groupID, month)
		return err
	})
	if err != nil {
		return p, fmt.Errorf("preview %s of group %d: %w", month, groupID, err)
	}
	p.Drafts, err = list(ctx, s.read, func(r scanner) (DraftShift, error) {
		var d DraftShift
		err := r.Scan(&d.ID, &d.TeacherID, &d.ClassroomID, &d.Date, &d.Times.Start, &d.Times.End, &d.Teacher, &d.Classroom)
		d.State = roster.ShiftDraft
		return d, err
	}, `SELECT s.id, s.teacher_id, s.classroom_id, s.date, s.start_minutes, s.end_minutes, t.name, c.name
		FROM shifts s JOIN classrooms c ON c.id = s.classroom_id JOIN teachers t ON t.id = s.teacher_id
		WHERE c.group_id = ? AND s.state = 'draft' AND s.date BETWEEN ? AND ? ORDER BY s.date, s.start_minutes, t.position`,
		groupID, month.First(), month.Last())
	if err != nil {
		return p, fmt.Errorf("preview %s of group %d: drafts: %w", month, groupID, err)
	}
	teachers, err := s.Teachers(ctx)
	if err != nil {
		return p, fmt.Errorf("preview %s of group %d: %w", month, groupID, err)
	}
	for _, t := range teachers {
		if !t.Linked() && p.Sheet.Snapshot.TeacherName(t.ID) != "" {
			p.NotLinked = append(p.NotLinked, t)
		}
	}
	return p, nil
}

func preview(ctx context.Context, q querier, groupID int64, month roster.Month) (Preview, error) {
	p := Preview{Month: month}
	var err error
	if p.Group, err = group(ctx, q, groupID); err != nil {
		return p, err
	}
	if p.Sheet.Snapshot, err = snapshot(ctx, q, p.Group, month); err != nil {
		return p, err
	}
	newest, err := newestPublication(ctx, q, groupID, month)
	switch {
	case err == nil:
		p.Newest = &newest
		p.Unchanged = newest.Sheet.Snapshot.Hash() == p.Sheet.Snapshot.Hash()
	case !errors.Is(err, ErrNotFound):
		return p, err
	}
	if err := q.QueryRowContext(ctx, `SELECT coalesce(max(number), 0) + 1 FROM publications WHERE group_id = ? AND month = ?`, groupID, month).Scan(&p.Sheet.Number); err != nil {
		return p, fmt.Errorf("count publications: %w", err)
	}
	base, certain, err := announcedBefore(ctx, q, p.Group, month, p.Sheet.Number)
	switch {
	case err == nil:
		p.Sheet.Base = &roster.Base{Number: base.Number, PublishedAt: base.PublishedAt, Certain: certain}
		p.Sheet.Changes = roster.Compare(base.Sheet.Snapshot, p.Sheet.Snapshot)
	case !errors.Is(err, ErrNotFound):
		return p, err
	}
	p.Pages, err = list(ctx, q, scanImage, `SELECT page, title, sha256, width, height, size_bytes FROM preview_pages WHERE sheet_hash = ? ORDER BY page`, p.Sheet.Hash())
	if err != nil {
		return p, fmt.Errorf("read rendered pages: %w", err)
	}
	return p, nil
}

// newestPublication finds the newest publication of a month that was not called off before any try.
func newestPublication(ctx context.Context, q querier, groupID int64, month roster.Month) (roster.Publication, error) {
	return one(ctx, q, scanPublication, `SELECT `+publicationColumns+` FROM publications p WHERE group_id = ? AND month = ?
		AND (NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.publication_id = p.id)
			OR EXISTS (SELECT 1 FROM deliveries d WHERE d.publication_id = p.id AND (d.state <> 'canceled' OR d.first_try_at IS NOT NULL)))
		ORDER BY number DESC LIMIT 1`, groupID, month)
}

// announcedBefore finds the newest publication of a month with a number below the given one that the group's present
// LINE group was sent, or may have been; certain tells which. The error is ErrNotFound if there is none.
func announcedBefore(ctx context.Context, q querier, g roster.Group, month roster.Month, number int) (p roster.Publication, certain bool, err error) {
	p, err = one(ctx, q, scanPublication, `SELECT `+publicationColumns+` FROM publications p WHERE group_id = ? AND month = ? AND number < ?
		AND EXISTS (SELECT 1 FROM deliveries d WHERE d.publication_id = p.id AND d.line_id = ? AND d.line_id <> ''
			AND (d.state = 'sent' OR `+mayHaveArrived+`))
		ORDER BY number DESC LIMIT 1`, g.ID, month, number, g.LINEGroupID)
	if err != nil {
		return p, false, err
	}
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE publication_id = ? AND line_id = ? AND state = 'sent')`, p.ID, g.LINEGroupID).Scan(&certain)
	return p, certain, err
}

// mayHaveArrived is true for a delivery d of which a try is open or ended without a known answer.
const mayHaveArrived = `EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = d.id AND (a.outcome IS NULL OR a.outcome IN ('unknown', 'interrupted')))`

// SavePreview keeps the rendered pages of a sheet, so that publishing it sends exactly these pictures. Pages of the same
// sheet that are there already, and whose files may be gone by now, are replaced.
func (s *Store) SavePreview(ctx context.Context, sheetHash string, pages []roster.Image) error {
	err := s.inTx(ctx, func(t *tx) error {
		for _, p := range pages {
			if _, err := t.exec(`INSERT INTO preview_pages (sheet_hash, page, title, sha256, width, height, size_bytes, created_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (sheet_hash, page) DO UPDATE SET title = excluded.title, sha256 = excluded.sha256, width = excluded.width,
				height = excluded.height, size_bytes = excluded.size_bytes, created_at = excluded.created_at`,
				sheetHash, p.Page, p.Title, p.SHA256, p.Width, p.Height, p.SizeBytes, at(t.now)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save preview: %w", err)
	}
	return nil
}

// PreviewPages reads the rendered pages of a sheet; none if it is not rendered.
func (s *Store) PreviewPages(ctx context.Context, sheetHash string) ([]roster.Image, error) {
	pages, err := list(ctx, s.read, scanImage, `SELECT page, title, sha256, width, height, size_bytes FROM preview_pages WHERE sheet_hash = ? ORDER BY page`, sheetHash)
	if err != nil {
		return nil, fmt.Errorf("preview pages: %w", err)
	}
	return pages, nil
}

// PublishInput says what an admin publishes.
type PublishInput struct {
	GroupID   int64
	Month     roster.Month
	SheetHash string // of the sheet that was shown
	AdminID   int64
}

// Published names what a publish made. DeliveryID is 0 when the group has no LINE group to announce it to.
type Published struct {
	PublicationID int64
	DeliveryID    int64
	Number        int
}

// Publish freezes a group's month and queues its announcement, all in one transaction. Older announcements of the
// month that still wait are called off. Beside failures the error is ErrSheetChanged, ErrSheetNotRendered,
// ErrUnchanged, ErrNothingToPublish or ErrNotFound; then nothing was changed.
func (s *Store) Publish(ctx context.Context, in PublishInput) (Published, error) {
	var out Published
	err := s.inTx(ctx, func(t *tx) error {
		p, err := preview(t.ctx, t, in.GroupID, in.Month)
		if err != nil {
			return err
		}
		switch {
		case p.Empty():
			return ErrNothingToPublish
		case p.Unchanged:
			return ErrUnchanged
		case p.Sheet.Hash() != in.SheetHash:
			return ErrSheetChanged
		case len(p.Pages) == 0:
			return ErrSheetNotRendered
		}
		out.Number = p.Sheet.Number
		sheet, err := json.Marshal(p.Sheet)
		if err != nil {
			return fmt.Errorf("encode sheet: %w", err)
		}
		out.PublicationID, err = t.insert(`INSERT INTO publications (group_id, month, number, document_id, snapshot_hash, sheet_hash, sheet, published_at, published_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			in.GroupID, in.Month, p.Sheet.Number, rand.Text(), p.Sheet.Snapshot.Hash(), in.SheetHash, string(sheet), at(t.now), ref(in.AdminID))
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO publication_pages (publication_id, page, title, sha256, width, height, size_bytes)
			SELECT ?, page, title, sha256, width, height, size_bytes FROM preview_pages WHERE sheet_hash = ?`, out.PublicationID, in.SheetHash); err != nil {
			return err
		}
		if !p.Group.Linked() {
			return nil
		}
		out.DeliveryID, err = s.announce(t, in.GroupID, out.PublicationID, in.AdminID)
		return err
	})
	if err != nil {
		return Published{}, fmt.Errorf("publish %s of group %d: %w", in.Month, in.GroupID, err)
	}
	return out, nil
}

// Publication reads one publication with its pages.
func (s *Store) Publication(ctx context.Context, publicationID int64) (roster.Publication, error) {
	p, err := publication(ctx, s.read, `id = ?`, publicationID)
	return p, wrap(err, "publication %d", publicationID)
}

// PublicationByDocument reads the publication with that document id, with its pages.
func (s *Store) PublicationByDocument(ctx context.Context, documentID string) (roster.Publication, error) {
	p, err := publication(ctx, s.read, `document_id = ?`, documentID)
	return p, wrap(err, "publication of a document")
}

func publication(ctx context.Context, q querier, where string, arg any) (roster.Publication, error) {
	p, err := one(ctx, q, scanPublication, `SELECT `+publicationColumns+` FROM publications p WHERE `+where, arg)
	if err != nil {
		return p, err
	}
	p.Pages, err = list(ctx, q, scanImage, `SELECT page, title, sha256, width, height, size_bytes FROM publication_pages WHERE publication_id = ? ORDER BY page`, p.ID)
	return p, wrap(err, "its pages")
}

// publicationAlone reads a publication without its pages. The error is ErrNotFound if there is none.
func publicationAlone(ctx context.Context, q querier, publicationID int64) (roster.Publication, error) {
	return one(ctx, q, scanPublication, `SELECT `+publicationColumns+` FROM publications p WHERE id = ?`, publicationID)
}

// Publications lists the publications of a group's month, the newest first, without pages.
func (s *Store) Publications(ctx context.Context, groupID int64, month roster.Month) ([]roster.Publication, error) {
	all, err := list(ctx, s.read, scanPublication, `SELECT `+publicationColumns+` FROM publications p WHERE group_id = ? AND month = ? ORDER BY number DESC`, groupID, month)
	if err != nil {
		return nil, fmt.Errorf("publications of %s of group %d: %w", month, groupID, err)
	}
	return all, nil
}

// NewestNumber returns the number of the newest publication of a group's month, called-off ones left out, and its
// document id; 0 if there is none.
func (s *Store) NewestNumber(ctx context.Context, groupID int64, month roster.Month) (number int, documentID string, err error) {
	p, err := newestPublication(ctx, s.read, groupID, month)
	if errors.Is(err, ErrNotFound) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("newest publication of %s of group %d: %w", month, groupID, err)
	}
	return p.Number, p.DocumentID, nil
}

// ImageKeys returns the hashes of every picture that a publication or a kept preview shows. A file of another name is
// left over once it is older than PreviewsKept.
func (s *Store) ImageKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	_, err := list(ctx, s.read, func(r scanner) (k string, err error) {
		err = r.Scan(&k)
		keys[k] = true
		return k, err
	}, `SELECT sha256 FROM publication_pages UNION SELECT sha256 FROM preview_pages`)
	return keys, wrap(err, "list pictures")
}

const publicationColumns = `p.id, p.group_id, p.month, p.number, p.document_id, p.sheet, p.published_at, p.published_by`

func scanPublication(row scanner) (roster.Publication, error) {
	var p roster.Publication
	var sheet string
	if err := row.Scan(&p.ID, &p.GroupID, &p.Month, &p.Number, &p.DocumentID, &sheet, scanInstant(&p.PublishedAt), scanRef(&p.PublishedBy)); err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(sheet), &p.Sheet); err != nil {
		return p, fmt.Errorf("sheet of publication %d: %w", p.ID, err)
	}
	return p, nil
}

func scanImage(row scanner) (roster.Image, error) {
	var i roster.Image
	err := row.Scan(&i.Page, &i.Title, &i.SHA256, &i.Width, &i.Height, &i.SizeBytes)
	return i, err
}
