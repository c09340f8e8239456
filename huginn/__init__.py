"""Huginn: one searchable index of what a team wrote, with citations.

The package holds the library and the command line; flows and tasks, which run it on a schedule, stand beside it.
"""

__version__ = "0.1.0"
