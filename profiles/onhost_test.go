package profiles

// onHost gives p with its shares resolved as package plan does, for a host with
// that much memory, in bytes, and that many CPUs, in 1e-9 CPUs: what the
// catalogue says together is looked at on machines of many sizes.
func (p *Profile) onHost(memory, cpus int64) *Profile {
	q := p.clone()
	for _, share := range []struct {
		of    **Amount
		total int64
	}{{&q.Memory, memory}, {&q.CPUs, cpus}} {
		if a := *share.of; a != nil && a.IsShare() {
			*share.of = &Amount{Value: share.total / a.Den * a.Num}
		}
	}
	return q
}
