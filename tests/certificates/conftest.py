"""Lets the tests of this folder import the cases and documents of tests/prove."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "prove"))
