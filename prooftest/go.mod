module github.com/recloser-go/recloser/prooftest

go 1.26.0

require github.com/recloser-go/recloser v0.1.0

require go.uber.org/goleak v1.3.0

require github.com/sony/gobreaker/v2 v2.4.0

require pgregory.net/rapid v1.3.0

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.13.0 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/recloser-go/recloser/fleet/pgstore v0.1.0
	github.com/recloser-go/recloser/fleet/redisstore v0.1.0
)

replace github.com/recloser-go/recloser => ../

replace github.com/recloser-go/recloser/fleet/redisstore => ../fleet/redisstore

replace github.com/recloser-go/recloser/fleet/pgstore => ../fleet/pgstore
