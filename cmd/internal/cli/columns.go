package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// widest bounds a column behind the first, in letters: what is longer moves the
// rest of its own line alone, and not that of all others out of sight.
const widest = 24

// printColumns prints rows as columns with two blanks between.
func printColumns(w io.Writer, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:filled(row)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			// The last one of a line moves nothing.
			if n := utf8.RuneCountInString(cell); (i == 0 || n <= widest) && i+1 < filled(row) {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		last := filled(row) - 1
		for i, cell := range row[:last+1] {
			line.WriteString(cell)
			if i < last {
				line.WriteString(strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0)+2))
			}
		}
		if _, err := fmt.Fprintln(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}

// filled counts the cells up to the last that says something.
func filled(row []string) int {
	for i := len(row); i > 0; i-- {
		if row[i-1] != "" {
			return i
		}
	}
	return 0
}
