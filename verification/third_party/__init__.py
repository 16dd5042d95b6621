"""Third-party programs that the suite is run against, with the verdicts that each is expected to get.

`expected/*.yaml` describes one program each: how it is built, how the suite runs against it, and every rule that it
breaks, with the reason. `go/` holds the Go modules that pin the versions.
"""
