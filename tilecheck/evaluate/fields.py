"""The fields of a copy of a box, read from the call, and the image that they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from tilecheck.evaluate.views import BITS, Coordinate, View, flat

Problem = tuple[str, str]  # expected, found


class Fields:
    """The tensor map of one call and the box it moves; `spec` is what the contract says of both."""

    def __init__(self, spec: Mapping[str, Any], parameters: Mapping[str, Any], dtype: str, arch: str) -> None:
        self.spec, self.dtype, self.bits = spec, dtype, BITS[dtype]
        self.arch = arch
        self.limits: Mapping[str, Any] = spec["limits"]
        self.rank = int(spec["rank"])
        self.box: list[int] = list(parameters["box"])
        strides = parameters.get("element_strides")
        self.strides: list[int] = [1] * self.rank if strides is None else list(strides)
        self.coords: list[Any] = list(parameters["coords"])
        self.steps: list[list[Any]] = [list(step) for step in parameters.get("coord_steps") or ()]
        self.rows: list[Any] = list(parameters.get("gather4") or ())
        self.swizzle, self.interleave = int(parameters.get("swizzle") or 0), int(parameters.get("interleave") or 0)
        self.fill, self.promotion = int(parameters.get("oob_fill") or 0), int(parameters.get("l2_promotion") or 0)
        self.named: str | None = parameters.get("format")
        self.pattern = next((p for p in spec["patterns"] if p["code"] == self.swizzle), None)
        self.slices = next((s for s in spec["interleaves"] if s["code"] == self.interleave), None)
        formats = [f for f in spec["formats"] if dtype in f["dtypes"] and self.named in {None, f["name"]}]
        self.format: Mapping[str, Any] | None = formats[0] if formats else None
        packing: Mapping[str, Any] = spec["packing"]
        self.packing = packing if self.format is not None and self.format["name"] == packing["format"] else None
        self.image = self._image()

    @property
    def align_bytes(self) -> int:
        """The multiple of which the address and the outer strides of the tensor are."""
        special = self.packing or self.slices
        return int(special["align_bytes"]) if special else int(self.limits["multiple_bytes"])

    def _image(self) -> Coordinate | None:
        if len(self.box) != self.rank or len(self.strides) != self.rank or min(self.box) < 1 or min(self.strides) < 1:
            return None
        samples = [len(range(0, extent, stride)) for extent, stride in zip(self.box, self.strides, strict=True)]
        if self.spec["rows"]:
            return (int(self.spec["rows"]), *samples[1:])
        if self.interleave == 0:
            return tuple(samples)
        slice_bits = 8 * int(self.slices["slice_bytes"]) if self.slices else 0
        if self.rank not in self.limits["interleaved_ranks"] or not slice_bits or slice_bits % self.bits:
            return None
        return (samples[0], 1, *samples[2:], slice_bits // self.bits)

    def offset(self, atom: Coordinate) -> int:
        """The bits of an element of the image behind its origin, before the swizzle."""
        assert self.image is not None
        row, inner = flat(atom[:-1], self.image[:-1]), atom[-1]
        if self.packing:
            blocks, inside = divmod(inner, int(self.packing["values"]))
            block = 8 * int(self.packing["block_bytes"])
            length, at = -(-self.image[-1] // int(self.packing["values"])) * block, blocks * block + inside * self.bits
        else:
            length, at = self.image[-1] * self.bits, inner * self.bits
        span = 8 * int(self.pattern["span_bytes"]) if self.pattern and not self.interleave else 0
        return row * max(length, span) + at

    def swizzled(self, bit: int) -> int:
        """Where the hardware puts what would lie at an absolute bit address."""
        byte, inside = divmod(bit, 8)
        moved = byte
        for shift, mask in self.pattern["xors"] if self.pattern else ():
            moved ^= (byte >> shift) & mask
        return 8 * moved + inside

    @property
    def transaction_bytes(self) -> int:
        """The bytes of the image without padding."""
        return prod(self.image or (0,)) * self.bits // 8

    # --- what is wrong -----------------------------------------------------------------------------------------------

    def type_problem(self) -> Problem | None:
        """A dtype without a format, or one that a reduction does not take."""
        if self.format is None:
            return f"a dtype of {self.named or 'a tensor map'}", self.dtype
        types = self.spec["types"]
        return None if types is None or self.dtype in types else (f"one of {', '.join(types)}", self.dtype)

    def box_problem(self) -> Problem | None:
        """A box of another rank or outside its limits."""
        if len(self.box) != self.rank:
            return f"{self.rank} extents", f"{len(self.box)}"
        if not all(1 <= extent <= self.limits["box"] for extent in self.box):
            return f"extents from 1 to {self.limits['box']}", f"{self.box}"
        if self.spec["rows"] and self.box[0] != 1:
            return "a box of one row", f"{self.box[0]} rows"
        if self.interleave:
            return None
        row = self.box[-1] * self.bits
        if self.packing:
            return None if self.box[-1] == self.packing["row"] else (f"a row of {self.packing['row']}", f"{self.box[-1]}")
        if row % (8 * self.limits["multiple_bytes"]):
            return f"rows of a multiple of {self.limits['multiple_bytes']} bytes", f"{row / 8:g} bytes"
        span = self.pattern["span_bytes"] if self.pattern else 0
        return (f"rows of at most {span} bytes", f"{row // 8} bytes") if span and row > 8 * span else None

    def field_problem(self) -> Problem | None:
        """A field of the tensor map outside its limits."""
        return next(self._field_problems(), None)

    def _field_problems(self) -> Iterator[Problem]:
        if self.pattern is None:
            yield "a swizzle there is", f"{self.swizzle}"
        elif self.pattern["arch"] and self.arch and not has(self.arch, self.pattern["arch"]):
            yield f"a swizzle that {self.arch} has", f"{self.swizzle}"
        if self.packing and self.swizzle not in self.packing["patterns"]:
            yield f"swizzle in {list(self.packing['patterns'])}", f"{self.swizzle}"
        if self.packing and (self.spec["store"] or self.interleave):
            yield "a load without interleave", "another copy"
        if self.interleave:
            if self.slices is None:
                yield "an interleaving there is", f"{self.interleave}"
            elif self.swizzle not in self.slices["patterns"]:
                yield f"swizzle in {list(self.slices['patterns'])}", f"{self.swizzle}"
            if self.rank not in self.limits["interleaved_ranks"] or self.spec["rows"]:
                yield "no interleave", f"{self.interleave}"
        if self.fill not in {0, 1} or (self.fill == 1 and not (self.format and self.format["floating"])):
            yield "oob_fill 0, or 1 for floating point", f"{self.fill} for {self.dtype}"
        if not 0 <= self.promotion < self.limits["promotions"]:
            yield f"l2_promotion below {self.limits['promotions']}", f"{self.promotion}"
        if len(self.strides) != self.rank or not all(1 <= stride <= self.limits["element_stride"] for stride in self.strides):
            yield f"{self.rank} element strides from 1 to {self.limits['element_stride']}", f"{self.strides}"
        if not self.interleave and self.strides and self.strides[-1] != 1:
            yield "an innermost element stride of 1", f"{self.strides[-1]}"

    def tensor_shape_problem(self, shape: Sequence[int | None]) -> Problem | None:
        """A view of another rank than the tensor map, or with slices of another size."""
        sliced = self.slices if self.rank in self.limits["interleaved_ranks"] else None
        rank = self.rank + (sliced is not None)
        if len(shape) != rank:
            return f"rank {rank}", f"rank {len(shape)}"
        if sliced is not None and shape[-1] != sliced["slice_bytes"] * 8 // self.bits:
            return f"a slice of {sliced['slice_bytes'] * 8 // self.bits} elements", f"{shape[-1]}"
        return None

    def geometry_problems(self, extents: Sequence[int], strides: Sequence[int]) -> dict[str, str]:
        """What is wrong with extents and strides (in bits) of the tensor: the demand, and what is found."""
        found: dict[str, str] = {}
        last = len(extents) - 1
        for k, extent in enumerate(extents[: self.rank]):
            if not 1 <= extent <= self.limits["extent"]:
                found[f"extent {k} from 1 to {self.limits['extent']}"] = f"{extent}"
            if self.packing and k == self.rank - 1 and extent % self.packing["row"]:
                found[f"extent {k} a multiple of {self.packing['row']}"] = f"{extent}"
        for k, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
            if extent == 1:
                continue
            if k == last:
                wanted, right = "one element", stride == self.bits
            elif self.slices is not None and k == last - 1:
                wanted, right = "one slice", stride == 8 * self.slices["slice_bytes"]
            else:
                wanted = f"a multiple of {self.align_bytes} bytes from 0 to below {self.limits['stride_below_bytes']}"
                right = stride % (8 * self.align_bytes) == 0 and 0 <= stride < 8 * self.limits["stride_below_bytes"]
            if not right:
                found[f"stride {k} {wanted}"] = f"{stride} bits"
        return found


def has(arch: str, floor: str) -> bool:
    """Whether an architecture is at a plain floor (`sm_100`)."""
    number = [int("".join(filter(str.isdigit, one))) for one in (arch, floor)]
    return number[0] >= number[1]


def specialised(contract: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[Mapping[str, Any], Fields | None]:
    """The contract with the image of the call's box as its atom, and the fields; as it is where the call has no box."""
    spec, forms = contract.get("box"), call.get("operands") or ()
    parameters: Mapping[str, Any] = call.get("parameters") or {}
    if spec is None or len(forms) != len(contract["operands"]) or not all("layout" in form for form in forms):
        return contract, None
    needed = {"box": list, "coords": list, "element_strides": list, "coord_steps": list, "gather4": list}
    if not all(isinstance(parameters.get(name) or [], kind) for name, kind in needed.items()) or not parameters.get("box"):
        return contract, None
    if not all(isinstance(one, int) for name in ("box", "element_strides") for one in parameters.get(name) or ()):
        return contract, None
    place = next(k for k, operand in enumerate(contract["operands"]) if operand["name"] == spec["tensor"])
    if not parameters.get("coords") or not all(isinstance(step, list) for step in parameters.get("coord_steps") or ()):
        return contract, None
    if not all(isinstance(parameters.get(name) or 0, int) for name in ("swizzle", "interleave", "oob_fill", "l2_promotion")):
        return contract, None
    fields = Fields(spec, parameters, View(forms[place]).dtype, str(call.get("arch") or ""))
    atom = tuple((f"box.{k}", extent) for k, extent in enumerate(fields.image or ()))
    operands = tuple({**operand, "bits": fields.bits} for operand in contract["operands"])
    return {**contract, "atom": atom, "operands": operands}, fields
