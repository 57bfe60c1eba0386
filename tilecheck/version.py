"""The version, read from the installed package when first asked for."""

from __future__ import annotations


def version() -> str:
    """The version of the installed distribution, "0+unknown" in a bare checkout."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("tilecheck")
    except PackageNotFoundError:
        return "0+unknown"
