package buildkit

import (
	"context"
	"crypto/rand"
	"path"
	"strings"
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

// lostSession is what a BuildKit says that has kept the error of an earlier,
// interrupted build; see cancelGently.
const lostSession = "no active sessions"

// distinct gives files of the same meaning and of other bytes, so that no step
// is one that BuildKit has kept an error of: white space that no one had before
// ends the lists that steps read.
func distinct(files map[string][]byte) map[string][]byte {
	blanks := strings.Map(func(r rune) rune {
		if r < 'N' {
			return ' '
		}
		return '\t'
	}, rand.Text())
	other := make(map[string][]byte, len(files))
	for name, data := range files {
		if path.Ext(name) == ".json" {
			data = append(data[:len(data):len(data)], blanks...)
		}
		other[name] = data
	}
	return other
}
