module github.com/hustings/hustings/bench

go 1.26

require github.com/hustings/hustings v0.0.0

replace github.com/hustings/hustings => ..
