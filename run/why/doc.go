// Package why draws the verdict on a run from its record: the cause of its end,
// the evidence, and the change that helps. It is pure: nothing but the case
// decides, and no engine is asked. The causes lie in rules, one a file.
package why
