"""Cases that must come out right, with what makes their inputs."""
