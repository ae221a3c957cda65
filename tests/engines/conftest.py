"""Tests on real engines: `make test-engines` runs them, in an environment that has Ray; `make test` does not."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("ENGINES") else ["test_*.py"]
