"""One writer at a time, whatever happens to the one before."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from huginn.errors import Busy
from huginn.lock import holder, writer_lock

HOLD = """
import sys, time
from pathlib import Path
from huginn.lock import writer_lock
with writer_lock(Path(sys.argv[1]), "a test"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with writer_lock(tmp_path, "the first"):
        assert "the first" in (holder(tmp_path) or "")
        with pytest.raises(Busy, match="the first"), writer_lock(tmp_path, "the second", wait=0.1):
            pass
    assert holder(tmp_path) is None
    with writer_lock(tmp_path, "the third"):
        pass


def test_the_lock_goes_with_a_process_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(Busy), writer_lock(tmp_path, "me"):
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
    with writer_lock(tmp_path, "me"):
        pass
