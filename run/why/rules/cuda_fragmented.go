package rules

import (
	"strconv"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var (
	cudaWords = lazyregexp.New(`.*(?:CUDA out of memory|CUDA error: out of memory|(?:HIP|XPU|MPS backend) out of memory|CUBLAS_STATUS_ALLOC_FAILED|cudaErrorMemoryAllocation|Failed to allocate memory on GPU|CUDA_ERROR_OUT_OF_MEMORY|CUDNN_STATUS_ALLOC_FAILED|cuda runtime error \(2\)|[Oo]ut of memory at .*/THC/|Cuda failure (?:2 )?.out of memory|Failed to CUDA (?:calloc|malloc)|^Error out of memory at line \d+ in file|RESOURCE_EXHAUSTED: Out of memory).*`)
	amount    = `([\d.]+) ([KMG]i?B)`
	tried     = lazyregexp.New(`Tried to allocate ` + amount)
	free      = lazyregexp.New(`of which ` + amount + ` is free|; ` + amount + ` free;`)
	allocated = lazyregexp.New(amount + ` already allocated`)
	reserved  = lazyregexp.New(amount + ` (?:reserved in total by PyTorch|cached)`)
	unused    = lazyregexp.New(amount + ` is reserved by PyTorch but unallocated`)
)

// parseAmount reads "24.85 MiB" in bytes.
func parseAmount(number, unit string) int64 {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	return int64(n * map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[unit[0]])
}

// firstAmount gives the first pair of groups that took part, in bytes.
func firstAmount(re *lazyregexp.Regexp, line string) (n int64, ok bool) {
	m := re.FindStringSubmatch(line)
	for i := 1; i+1 < len(m); i += 2 {
		if m[i] != "" {
			return parseAmount(m[i], m[i+1]), true
		}
	}
	return 0, false
}

// cudaFragmented: there is as much as was asked for, but not in one piece.
var cudaFragmented = evidence.Rule{
	Code:  "cuda-fragmented",
	Title: "the GPU's memory was fragmented",
	Mechanism: `PyTorch takes memory of the GPU in segments and hands out blocks of them. Small blocks that live long leave gaps, and a large
request fails though more than that is "reserved but unallocated", or free. expandable_segments lets a segment grow instead.
Source: PyTorch, "CUDA semantics", "Optimizing memory usage with PYTORCH_CUDA_ALLOC_CONF"; pytorch issue 35901.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(cudaWords)
		if m == nil {
			return nil
		}
		want, ok := firstAmount(tried, m[0])
		if !ok {
			return nil
		}
		gap, ok := firstAmount(unused, m[0])
		if !ok { // before torch 2.1
			all, _ := firstAmount(reserved, m[0])
			used, _ := firstAmount(allocated, m[0])
			gap = all - used
		}
		left, _ := firstAmount(free, m[0])
		if gap < want && left < want {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("the GPU had %s in pieces when %s in one piece were asked for", "GPU 尚有 %s 零散显存，但无法分配连续的 %s", size(max(gap, left)), size(want)),
			Fix:   evidence.Say("-e %s=expandable_segments:True", "-e %s=expandable_segments:True", allocVariable(c)),
		}
	},
}

// allocVariable is the name that the image's torch reads.
func allocVariable(c *evidence.Case) string {
	if c.Plan != nil {
		if _, newer := c.Plan.Getenv("PYTORCH_ALLOC_CONF"); newer {
			return "PYTORCH_ALLOC_CONF"
		}
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}
