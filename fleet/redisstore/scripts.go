package redisstore

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/common.lua
	common string
	//go:embed lua/load.lua
	loadSource string
	//go:embed lua/since.lua
	sinceSource string
	//go:embed lua/put.lua
	putSource string
	//go:embed lua/say.lua
	saySource string
	//go:embed lua/sweep.lua
	sweepSource string
	//go:embed lua/acquire.lua
	acquireSource string
	//go:embed lua/finish.lua
	finishSource string
	//go:embed lua/elect.lua
	electSource string
)

// The scripts, which never change.
var (
	loadScript    = redis.NewScript(common + loadSource)
	sinceScript   = redis.NewScript(common + sinceSource)
	putScript     = redis.NewScript(common + putSource)
	sayScript     = redis.NewScript(common + saySource)
	sweepScript   = redis.NewScript(common + sweepSource)
	acquireScript = redis.NewScript(common + acquireSource)
	finishScript  = redis.NewScript(common + finishSource)
	electScript   = redis.NewScript(electSource)
)
