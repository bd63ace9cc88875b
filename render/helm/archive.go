package helm

import (
	"archive/zip"
	"bytes"
	"fmt"
	"path"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/prdiff/prdiff/internal/source"
)

// Unpack gives a tree that has a packed chart in folder dir, and nothing else.
// Names that lead out of the archive, links, and more than Helm itself would unpack
// are errors.
func Unpack(dir string, archive []byte) (*source.Tree, error) {
	files, err := loader.LoadArchiveFiles(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	// A zip in memory is a file system in memory.
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		to, err := w.CreateHeader(&zip.FileHeader{Name: path.Join(dir, f.Name), Method: zip.Store})
		if err == nil {
			_, err = to.Write(f.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return source.NewTree(dir, r), nil
}
