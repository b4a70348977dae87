package fleet_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// What clients say while their server is killed is no news here.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}
