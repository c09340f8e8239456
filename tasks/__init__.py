"""The Prefect tasks: one per source, with name, retry and time limit. No logic of their own."""
