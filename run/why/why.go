package why

import (
	"cmp"
	"slices"

	"crun.dev/crun/run/why/evidence"
	"crun.dev/crun/run/why/rules"
)

// Codes of verdicts that no rule gives.
const (
	Clean   = "clean"   // it ended as it should
	Running = "running" // it has not ended
	Unknown = "unknown" // nothing fits
)

// Verdict is why a run ended as it did.
type Verdict struct {
	// Code is that of a rule, or one of Clean, Running and Unknown.
	Code  string
	Sure  evidence.Sure
	Cause evidence.Text
	Signs []evidence.Sign
	Fix   evidence.Text

	// Asides happened too, and did not end the run.
	Asides []*evidence.Finding
	// Dropped are the other findings, the most likely first.
	Dropped []Dropped
}

// Dropped is a finding that is not the verdict.
type Dropped struct {
	*evidence.Finding
	Why evidence.Text
}

// Draw draws the verdict. Of the causes found the surest wins, and of equally
// sure ones the one that the table of rules has first; how the run ended, which
// there is always a word for, counts where no cause is found.
func Draw(c *evidence.Case) *Verdict {
	if c.State != nil && !c.State.Phase.Over() {
		return &Verdict{Code: Running, Sure: evidence.Certain, Cause: evidence.Say("the run has not ended", "运行尚未结束")}
	}
	v := &Verdict{}
	causes, asides := findings(c, rules.Causes)
	surestFirst(causes)
	ends, moreAsides := findings(c, rules.Ends)
	unknownLast(ends)
	v.Asides = append(asides, moreAsides...)
	var best *evidence.Finding
	switch {
	case len(causes) > 0:
		best = causes[0]
		v.drop(causes[1:], evidence.Say("less sure, or a consequence of the cause", "把握较小，或是该原因的后果"))
		v.drop(ends, evidence.Say("says how it ended, not why", "只说明如何结束，而非原因"))
	case len(ends) > 0:
		best = ends[0]
		v.drop(ends[1:], evidence.Say("says less", "信息更少"))
	case c.Clean():
		v.Code, v.Sure, v.Cause = Clean, evidence.Certain, evidence.Say("the run ended as it should", "运行正常结束")
		return v
	default:
		v.Code, v.Sure = Unknown, evidence.Unknown
		v.Cause = evidence.Say("nothing in the record says why it ended", "记录中没有说明结束原因的信息")
		v.Signs = looked(c)
		v.Fix = evidence.Say("read its last lines: crun logs --tail 30", "查看最后几行：crun logs --tail 30")
		return v
	}
	v.Code, v.Sure, v.Cause, v.Signs, v.Fix = best.Code, best.Sure, best.Cause, best.Signs, best.Fix
	return v
}

func (v *Verdict) drop(all []*evidence.Finding, why evidence.Text) {
	for _, f := range all {
		v.Dropped = append(v.Dropped, Dropped{f, why})
	}
}

// findings gives what the rules find, in their order.
func findings(c *evidence.Case, table []evidence.Rule) (found, asides []*evidence.Finding) {
	for _, rule := range table {
		f := rule.Find(c)
		if f == nil {
			continue
		}
		f.Code = rule.Code
		if f.Aside {
			asides = append(asides, f)
		} else {
			found = append(found, f)
		}
	}
	return found, asides
}

// surestFirst sorts causes: of equally sure ones the table's order stays.
func surestFirst(found []*evidence.Finding) {
	order := []evidence.Sure{evidence.Certain, evidence.Likely, evidence.Unknown}
	slices.SortStableFunc(found, func(a, b *evidence.Finding) int {
		return cmp.Compare(slices.Index(order, a.Sure), slices.Index(order, b.Sure))
	})
}

// unknownLast sorts ends: each is a fact, and the table has the one that says
// most first.
func unknownLast(found []*evidence.Finding) {
	slices.SortStableFunc(found, func(a, b *evidence.Finding) int {
		rank := func(f *evidence.Finding) int {
			if f.Sure == evidence.Unknown {
				return 1
			}
			return 0
		}
		return cmp.Compare(rank(a), rank(b))
	})
}

// looked is what was looked at where nothing fits.
func looked(c *evidence.Case) []evidence.Sign {
	signs := []evidence.Sign{}
	add := func(what, value string) { signs = append(signs, evidence.Sign{What: what, Value: value}) }
	if c.Report == nil {
		add("init's report", "is not there")
	}
	if c.State == nil {
		add("record", "there is none: the log alone was looked at")
	}
	switch n := len(c.Log.Lines); {
	case n == 0:
		add("log", "is empty")
	default:
		add("log:", evidence.Quote(c.Log.Lines[n-1]))
	}
	return signs
}

// Rules lists all rules, those of causes first.
func Rules() []evidence.Rule { return slices.Concat(rules.Causes, rules.Ends) }

// Explain gives the rule of this code.
func Explain(code string) (rule evidence.Rule, ok bool) {
	for _, r := range Rules() {
		if r.Code == code {
			return r, true
		}
	}
	return evidence.Rule{}, false
}
