"""EMB-01: an embedding server that misbehaves."""
