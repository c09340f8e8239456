"""The corpus `chat`: rooms of a Matrix homeserver, read by a user who can do nothing else."""
