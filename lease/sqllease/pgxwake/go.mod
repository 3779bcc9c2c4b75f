// The wake-ups of PostgreSQL are a module of their own, so that pgx is nobody
// else's dependency.
module github.com/hustings/hustings/lease/sqllease/pgxwake

go 1.26.0

replace github.com/hustings/hustings => ../../../

require (
	github.com/hustings/hustings v0.0.0-00010101000000-000000000000
	github.com/jackc/pgx/v5 v5.7.6
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.37.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)
