"""Text for tests of what takes `Clean`, unchanged whatever it looks like."""

from __future__ import annotations

import pickle

from huginn.scrub import Clean, scrub


def clean(text: str) -> Clean:
    """`text` as it is, by the way that a `Clean` travels between processes."""
    make, _ = scrub("x").clean.__reduce__()
    made: Clean = make(text)
    assert pickle.loads(pickle.dumps(made)) == text
    return made
