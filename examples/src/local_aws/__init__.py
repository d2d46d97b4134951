"""AWS on this machine, for the demo and for tests that depend on how a queue behaves."""
