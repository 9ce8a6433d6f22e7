// Package migrations holds the schema's history: one numbered SQL file a step, applied in order by db.Open and never
// edited once released.
package migrations

import "embed"

// FS holds the SQL files in the form that goose reads.
//
//go:embed *.sql
var FS embed.FS
