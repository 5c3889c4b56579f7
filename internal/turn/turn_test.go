package turn

import (
	"context"
	"errors"
	"testing"
)

func TestTake(t *testing.T) {
	folder := t.TempDir()
	leave, err := Take(t.Context(), folder, func() { t.Error("the first one waits") })
	if err != nil {
		t.Fatal(err)
	}
	// The second one waits, which a person can end.
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Take(ctx, folder, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	second, err := Take(t.Context(), folder, leave)
	if err != nil {
		t.Fatal(err)
	}
	second()
	if leave, err = Take(t.Context(), folder+"/none", func() { t.Error("a folder that is not there is waited for") }); err != nil {
		t.Fatal(err)
	}
	leave()
}
