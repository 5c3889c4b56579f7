package buildkit

import (
	"context"
	"time"

	gateway "github.com/moby/buildkit/frontend/gateway/client"
)

// How long a canceled build function may take to return, and how long BuildKit
// has to take its steps back before it is told that the build has ended.
const (
	cancelPatience = 5 * time.Second
	cancelSettle   = 300 * time.Millisecond
)

// cancelGently makes a build end in the right order when ctx ends: the step
// that is at work first, then the build function, the connection last. With
// all at once the BuildKit of Engine 20.10 forgets the session under a running
// step, keeps the error, and every later build that comes to this step fails
// with "no active sessions" until the engine is started anew.
//
// The context that it gives is for the connection; run's is made of it.
func cancelGently(ctx context.Context, run gateway.BuildFunc) (context.Context, gateway.BuildFunc) {
	connection, end := context.WithCancel(context.WithoutCancel(ctx))
	returned := make(chan struct{})
	context.AfterFunc(ctx, func() {
		select {
		case <-returned:
		case <-time.After(cancelPatience):
		}
		end()
	})
	return connection, func(c context.Context, g gateway.Client) (*gateway.Result, error) {
		defer close(returned)
		c, cancel := context.WithCancel(c)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		result, err := run(c, g)
		if ctx.Err() != nil {
			time.Sleep(cancelSettle)
			return nil, ctx.Err()
		}
		return result, err
	}
}
