"""`python -m huginn.cli`: the same as `huginn`."""

from __future__ import annotations

import sys

from huginn.cli.program import main

sys.exit(main())
