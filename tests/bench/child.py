"""A measurement in a process of its own: `python -m tests.bench.child module:function '{"argument": …}'`.

What the function returns is printed as JSON, in the last line. Nothing else is imported here, so that a bare baseline
carries nothing of Huginn.
"""

from __future__ import annotations

import importlib
import json
import sys

if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    answer = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
    sys.stdout.flush()
