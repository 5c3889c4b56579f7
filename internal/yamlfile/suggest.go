package yamlfile

import "strings"

// suggest gives the name of allowed that word was most likely meant to be, or
// "" where none is near. At most a third of the letters may differ.
func suggest(word string, allowed []string) string {
	best, bestDistance := "", len(word)/3+1
	if bestDistance > 3 {
		bestDistance = 3
	}
	for _, name := range allowed {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = name, d
		}
	}
	return best
}

// DidYouMean is the clause ` (did you mean "NAME"?)`, or "" where no name is near.
func DidYouMean(word string, allowed []string) string {
	if name := suggest(word, allowed); name != "" {
		return ` (did you mean "` + name + `"?)`
	}
	return ""
}

// distance counts the edits (insert, delete, replace, swap of neighbours)
// between a and b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
