"""The corpus `chat`: the rooms of a Matrix homeserver."""
