"""Obligations to verdicts."""
