package buildkit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/moby/buildkit/client"
)

// CacheRecord is one record of BuildKit's cache.
type CacheRecord struct {
	ID string
	// What says what made it: BuildKit's description on one line.
	What string
	// Size is in bytes.
	Size int64
	// LastUsed is when a build last used it, or when it was made.
	LastUsed time.Time
	// Mount tells that it is a cache mount, which steps download into.
	Mount bool
	// Ours tells that a step of crun's made it. Sources and copies do not say
	// whose they are.
	Ours bool
	// InUse tells that a build uses it now, Shared that an image has it too, so
	// that the cache's giving it up frees nothing.
	InUse, Shared bool
}

// stepMark is in every step of crun's Dockerfiles, and so in the description of
// what these made.
const stepMark = "/run/crun/"

// Cache lists the records of BuildKit's cache.
func (b *Builder) Cache(ctx context.Context) ([]CacheRecord, error) {
	c, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	usage, err := c.DiskUsage(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its cache: %w", b.where(), err)
	}
	records := make([]CacheRecord, len(usage))
	for i, u := range usage {
		records[i] = CacheRecord{
			ID: u.ID, What: strings.Join(strings.Fields(u.Description), " "), Size: u.Size, LastUsed: u.CreatedAt,
			Mount: u.RecordType == client.UsageRecordTypeCacheMount,
			Ours:  strings.Contains(u.Description, stepMark), InUse: u.InUse, Shared: u.Shared,
		}
		if u.LastUsedAt != nil {
			records[i].LastUsed = *u.LastUsedAt
		}
	}
	return records, nil
}

// pruneBatch is how many records one call names: each is a filter of its own.
const pruneBatch = 100

// PruneCache removes records of the cache by their ids and gives the bytes that
// BuildKit says it has freed. One that is in use stays.
func (b *Builder) PruneCache(ctx context.Context, ids []string) (freed int64, err error) {
	c, err := b.connect(ctx)
	if err != nil {
		return 0, err
	}
	for len(ids) > 0 {
		batch := ids[:min(pruneBatch, len(ids))]
		ids = ids[len(batch):]
		filters := make([]string, len(batch))
		for i, id := range batch {
			filters[i] = "id==" + id
		}
		removed := make(chan client.UsageInfo)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for u := range removed {
				freed += u.Size
			}
		}()
		err := c.Prune(ctx, removed, client.WithFilter(filters), client.PruneAll)
		close(removed)
		<-done
		if err != nil {
			return freed, fmt.Errorf("freeing the cache of %s: %w", b.where(), err)
		}
	}
	return freed, nil
}
