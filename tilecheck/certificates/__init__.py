"""Certificates: the obligations of a call as SMT-LIB 2 that any solver can check again, and `recheck`, which has one do so.

Nothing here asks a solver in order to write: formulas are text made from terms, in an encoding of its own (see docs/explanation/certificates.md).
"""
