"""Pictures in SVG: who owns what, which bytes are touched, which bits must be 0. Every number is the evaluator's."""

from tilecheck.report.pictures.svg import Picture, standalone

__all__ = ["Picture", "standalone"]
