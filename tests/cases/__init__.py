"""Acceptance cases, one folder each."""
