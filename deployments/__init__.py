"""How Huginn is put on a host."""
