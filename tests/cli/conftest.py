"""Lets the tests of this folder import the malformed documents beside them, and the cases of tests/prove."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "prove")]
