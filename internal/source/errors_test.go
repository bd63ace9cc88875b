package source

import (
	"errors"
	"strings"
	"testing"
)

func wantError(t *testing.T, err error, says string, is error) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", says)
		return
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error is %q, want it to say %q", err, says)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %q is not %q", err, is)
	}
}
