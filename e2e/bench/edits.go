package main

import "fmt"

// edits measures what an edit of an environment costs: with crun, with one RUN
// step that removes its caches (a), and with the same step over cache mounts
// (b), each from an image that was built before the edit. only names one of the
// edits, or is "" for all.
func edits(crun, only string) error {
	w, err := newWorkshop(crun, "bench-edits", "torch, numpy, tqdm")
	if err != nil {
		return err
	}
	defer w.close()
	start := environment{conda: []string{"python=3.9", "pytorch=1.*", "numpy", "pip"}, pip: []string{"tqdm==4.66.5"}}
	light := start
	light.conda = append(start.conda[:len(start.conda):len(start.conda)], "pyyaml")
	without := start.with("pytorch=1.*", "")
	fmt.Println("\n| edit | | seconds | ratio to crun | down | exported | image |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	var details []string
	// Also of what was measured before a later step failed.
	defer func() {
		fmt.Println("\nWhere crun's time goes:")
		for _, line := range details {
			fmt.Println("- " + line)
		}
	}()
	step := func(what string, e environment, before *environment, kinds []string) error {
		if only != "" && only != what {
			return nil
		}
		if before != nil {
			// What is there before the edit is not measured.
			if _, err := w.build(*before); err != nil {
				return err
			}
		}
		ours, err := w.build(e)
		if err != nil {
			return err
		}
		ours.row(what, "crun", ours)
		details = append(details, fmt.Sprintf("%s: %s", what, shares(ours)))
		for _, kind := range kinds {
			if kind == "b" && before != nil {
				if _, err := w.byHand(kind, *before); err != nil {
					return err
				}
			}
			plain, err := w.byHand(kind, e)
			if err != nil {
				return err
			}
			plain.row(what, map[string]string{"a": "one `RUN`, no caches", "b": "one `RUN`, cache mounts"}[kind], ours)
		}
		return nil
	}
	both := []string{"a", "b"}
	// No file fetched yet, no layer there; crun's own tools are, as from the first
	// build of any environment on.
	if err := step("cold", start, nil, both); err != nil {
		return err
	}
	if err := step("nothing", start, nil, both); err != nil {
		return err
	}
	if err := step("one pip line", start.with("tqdm==4.66.5", "tqdm==4.66.4"), &start, both); err != nil {
		return err
	}
	if err := step("one conda line", light, &start, both); err != nil {
		return err
	}
	if err := step("one heavy package", start.with("tqdm==4.66.5", "tqdm==4.66.3"), ref(without.with("tqdm==4.66.5", "tqdm==4.66.3")), both); err != nil {
		return err
	}
	return nil
}

func ref(e environment) *environment { return &e }

// row prints a cost beside crun's.
func (c cost) row(what, who string, ours cost) {
	fmt.Printf("| %s | %s | %.1f | %.1f | %s | %s | %s |\n", what, who, c.time.Seconds(), c.time.Seconds()/ours.time.Seconds(),
		megabytes(c.down), megabytes(c.exported), megabytes(c.size))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
