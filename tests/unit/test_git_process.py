"""A git may be ended by one thread while another one reaps it."""

from __future__ import annotations

import os

from huginn.forge.process import Process


def test_a_git_that_its_own_thread_has_just_reaped_has_ended() -> None:
    with Process(["--version"], os.environ, seconds=20) as process:
        while process.read():
            pass
        os.waitpid(process._popen.pid, 0)  # as by another thread that has not yet noted the exit code
        assert process.has_ended()
        process.ask_to_end()
        process.wait()
