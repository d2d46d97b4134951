"""What strangers may send: nothing of it raises an error that is not declared, or runs anything."""
