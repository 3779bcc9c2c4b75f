module github.com/hustings/hustings

go 1.26
