"""The task of the chat corpus: one per room, with its name, retries and time limit. No logic.

In: the id of a room; the open run comes through `tasks.open_run`. Out: its report, ids and counts only.
"""

from __future__ import annotations

from tasks.forge import refresh_source

refresh_room = refresh_source.with_options(name="chat-refresh-room")
"""Refresh one room in the run that the flow has opened."""
