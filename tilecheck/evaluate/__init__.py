"""The independent evaluator: contracts and calls as plain data, plain ints, nothing shared with the prover."""

from tilecheck.evaluate.clauses import Observation
from tilecheck.evaluate.model import Answer, Model, Point
from tilecheck.evaluate.predict import Image

__all__ = ["Answer", "Image", "Model", "Observation", "Point"]
