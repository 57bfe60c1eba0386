"""The image of a copy from shared memory to tensor memory: every copy of a cell, in both CTAs of a pair, packed values widened."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tilecheck.evaluate.predict import Copies, Image, Place, Row, memory_row_order

LANE_BYTES = 2048
"""What the numbers of bytes of neighbouring lanes differ by."""
BLOCK = 16
"""Bytes of a block of packed values."""
Found = dict[tuple[int, int], list[Any]]
"""What the bytes of the tensor memory of each CTA hold: (the CTA whose shared memory it comes from, a byte there, or (byte, bit, bits) of each part of a value)."""


class CellCopies(Copies):
    """Every byte of every lane that is written; each CTA of a pair copies from its own shared memory."""

    def image(self) -> Image:
        """The rows, with the CTA where there are several."""
        found: Found = {}
        for thread in self.call.executing():
            if self.call.scene(thread).predicate(thread):
                for place in self.call.places(thread):
                    self._copied(place, found)
        several = self.case.launch.ctas > 1
        rows = [self._said(byte, cta, written, several=several) for (cta, byte), written in found.items()]
        return Image([], sorted(rows, key=lambda row: (*memory_row_order(row)[:2], row[-1].get("cta", 0) if several else 0)))

    def _copied(self, place: Place, found: Found) -> None:
        """One execution."""
        spec = self.target.matrix
        assert spec is not None
        digits = product(*([k * int(apart) for k in range(int(count))] for count, apart in spec["replicas"]))
        shifts = [LANE_BYTES * sum(one) for one in digits]
        own = place.thread.cta
        for cta in (own & ~1, own | 1) if self.case.pair else (own,):
            for to, come in self._bytes(place):
                for shift in shifts:
                    found.setdefault((cta, to + shift), []).append((cta, come))

    def _bytes(self, place: Place) -> Iterator[tuple[int, int | tuple[tuple[int, int, int], ...]]]:
        """(a byte of the destination, the byte, or the parts of a packed value, that it comes from)."""
        unpacks, size = self.move.get("unpacks"), len(self.target.atoms) * self.target.bits // 8
        for k in range(size):
            to = self._byte(self.target, place, k)
            if unpacks is None:
                yield to, self._byte(self.source, place, k)
                continue
            bits, first = int(unpacks["bits"]), k // BLOCK * BLOCK
            low, high = bits * (k % BLOCK), bits * (k % BLOCK + 1)
            parts: list[tuple[int, int, int]] = []
            while low < high:
                end = min(high, low // 8 * 8 + 8)
                parts.append((self._byte(self.source, place, first + low // 8), low % 8, end - low))
                low = end
            yield to, tuple(parts)

    def _said(self, byte: int, cta: int, written: list[Any], *, several: bool) -> Row:
        """A row: a byte of the source, the parts of a widened value, or "undefined" where it is written twice."""
        where = [{"cta": cta}] if several else []
        if len(written) > 1:
            return [self.target.label, byte, None, "undefined", *where]
        come, what = written[0]
        if isinstance(what, int):
            more = {"cta": cta, "from": come} if several else {}
            return [self.target.label, byte, self.source.tensor, what, *([more] if more else [])]
        sources = [[self.source.tensor, *part, *([come] if several else [])] for part in what]
        low = int(self.move["unpacks"]["low"])
        return [self.target.label, byte, None, "unpacked", {**(where[0] if where else {}), "low": low, "sources": sources}]
