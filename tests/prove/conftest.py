"""Lets the tests of this folder import the helpers beside them; what mutants need."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def fresh():
    """Nothing is remembered of calls, before and after."""
    from mutation import forget

    forget()
    yield
    forget()
