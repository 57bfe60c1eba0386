"""Prediction of copies of boxes: what every byte of shared or global memory holds afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilecheck.evaluate.box_points import BoxPoints
from tilecheck.evaluate.boxes import Issue
from tilecheck.evaluate.case import Scene
from tilecheck.evaluate.parameters import copies
from tilecheck.evaluate.predict import Image, Replay, UnpredictedError, Values, Write, Written, copied_rows
from tilecheck.evaluate.views import Coordinate

PREFIXES = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "s"))
"""How PTX types begin, by how dtypes do."""


def ptx_type(dtype: str) -> str:
    """The PTX type of a number: `u32` of `uint32`."""
    return next(short + dtype.removeprefix(long) for long, short in PREFIXES if dtype.startswith(long))


class BoxImage(Replay):
    """One call with a value for every symbol."""

    def __init__(self, boxes: BoxPoints, values: Values, elected: int) -> None:
        super().__init__(boxes.case, values, elected)
        self.boxes, self.fields = boxes, boxes.fields
        self.found: Written = {}
        if self.fields.walk is not None and self.fields.walk["wide"]:
            raise UnpredictedError(
                f"how the mode {self.fields.spec['mode']} goes on from row to row stands in figures of PTX ISA 5.5.5 only"
            )

    def image(self) -> Image:
        """Everything the call writes."""
        image, tensor = self.boxes.image, self.boxes.tensor
        if image is None:
            return Image([], [])
        stores, operator = self.fields.spec["store"], self.case.move.get("combine")
        for thread in self.executing():
            scene = self.scene(thread)
            if not scene.predicate(thread):
                continue
            for issue in self.boxes.issues(scene):
                if issue[0] == thread:
                    (self._store if stores else self._load)(scene, issue)
        source, target = (image, tensor) if stores else (tensor, image)
        combine = None if operator is None else f"{operator}.{ptx_type(self.fields.dtype)}"
        form = self.fields.format
        rounded = str(form["name"]) if form is not None and form["rounded"] and not stores else None
        return Image([], copied_rows(self.case, source, target, self.found, combine, rounded))

    def _write(self, copy: tuple[int, ...], byte: int, origin: Write) -> None:
        self.found.setdefault((copy, byte), []).append(origin)

    def _elements(self, scene: Scene, issue: Issue) -> Iterator[tuple[int, Coordinate, bool]]:
        """(first byte in the image, coordinates in the tensor, whether that is inside it) of what an element, or a pair of nibbles, occupies."""
        fields, image = self.fields, self.boxes.image
        assert image is not None
        at = self.boxes.position(scene, issue)
        fixed, extents = scene.fixed(image, issue[0]), scene.fixed(self.boxes.tensor, None).shapes[-1]
        sampled = list(self.boxes.elements(at, extents, self.boxes.offsets(scene, issue)))
        channels = range(extents[-1]) if fields.slices is not None else (None,)
        places = [(*c, *(() if k is None else (k,))) for c in sampled for k in channels]
        pair = max(1, 8 // fields.bits)
        atoms = product(*(range(extent) for extent in image.atom_extents))
        for atom, there in zip(atoms, places, strict=True):
            if atom[-1] % pair == 0:
                inside = all(0 <= c < extent for c, extent in zip(there, extents, strict=True))
                yield fixed.address((*issue[1], *issue[2], *atom)) // 8, there, inside

    @property
    def _bytes(self) -> int:
        return max(8, self.fields.bits) // 8

    def _load(self, scene: Scene, issue: Issue) -> None:
        image, tensor = self.boxes.image, self.boxes.tensor
        assert image is not None
        fixed = scene.fixed(tensor, None)
        fill = "nan" if self.fields.fill else "zero"
        for copy in copies(scene, image, issue[0]):
            for first, there, inside in self._elements(scene, issue):
                source = fixed.address(there) // 8 if inside else 0
                for k in range(self._bytes):
                    self._write(copy, first + k, Write((), source + k if inside else fill))
                self._padding(copy, first, there)

    def _padding(self, copy: tuple[int, ...], first: int, there: Coordinate) -> None:
        """Behind the payload of a packed block its padding, which is undefined."""
        packed = self.fields.packing
        if packed and there[-1] % packed["values"] == 0:
            for k in range(packed["payload_bytes"], packed["block_bytes"]):
                self._write(copy, first + k, Write((), "undefined"))

    def _store(self, scene: Scene, issue: Issue) -> None:
        """What is inside the tensor, and in the innermost axis up to the next multiple of 16 bytes."""
        image, tensor, fields = self.boxes.image, self.boxes.tensor, self.fields
        assert image is not None
        fixed = scene.fixed(tensor, None)
        extents, unit = fixed.shapes[-1], int(fields.limits["multiple_bytes"])
        reach = -(-extents[-1] * fields.bits // (8 * unit)) * 8 * unit // fields.bits if fields.slices is None else extents[-1]
        start = fixed.address((0,) * len(extents))
        step = [fixed.address(tuple(int(j == k) for j in range(len(extents)))) - start if e > 1 else 0 for k, e in enumerate(extents)]
        (own,) = copies(scene, image, issue[0])
        for first, there, _ in self._elements(scene, issue):
            within = all(0 <= c < extent for c, extent in zip(there[:-1], extents[:-1], strict=True))
            if not within or there[-1] >= reach:
                continue
            target = (start + sum(s * c for s, c in zip((*step[:-1], fields.bits), there, strict=True))) // 8
            for k in range(self._bytes):
                self._write((), target + k, Write(own, first + k))
