package handlers

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"shiftpost/jobs/render"
)

// drawer is the one Chrome that the package's tests share, started by the first that draws a picture.
var drawer = sync.OnceValues(func() (*render.Renderer, error) {
	folder, err := os.MkdirTemp("", "shiftpost-handlers-")
	if err != nil {
		return nil, err
	}
	drawerFolder = folder
	return render.New(render.Options{TempDir: folder, Timeout: 2 * time.Minute})
})

var drawerFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	if drawerFolder != "" {
		r, err := drawer()
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			err = r.Close(ctx)
			cancel()
		}
		if err == nil {
			err = os.RemoveAll(drawerFolder)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
