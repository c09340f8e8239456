"""The Prefect flows: what runs on a schedule and by hand. No logic of their own."""
