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
        self.walk: Mapping[str, Any] | None = spec["walk"]
        self.corners: list[list[int]] = [list(parameters.get(f"pixel_box_{which}_corner") or ()) for which in ("lower", "upper")]
        self.channels = int(parameters.get("channels_per_pixel") or 0)
        self.pixels = int((self.walk["pixels"] if self.walk else 0) or parameters.get("pixels_per_column") or 0)
        self.moved: list[Any] = list(parameters.get("im2col_offsets") or ())
        self.box: list[int] = [self.channels] if self.walk else list(parameters["box"])
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

    @property
    def plain(self) -> bool:
        """Whether halo pixels, whose places are not known, are at most loaded by an expression."""
        return self.halo in {None, 0} or isinstance(self.halo, str)

    @property
    def halo(self) -> Any:
        """What says how many halo pixels are loaded; None where nothing does."""
        return self.moved[0] if self.walk and self.walk["wide"] and self.moved else None

    @property
    def spatial(self) -> list[int]:
        """The axes of the bounding box of a walk, outer to inner: the last ones, before the channels where these are the last."""
        assert self.walk is not None
        end = self.rank if self.interleave else self.rank - 1
        return list(range(end))[end - int(self.walk["spatial"]) :]

    @property
    def moves(self) -> list[tuple[str, int]]:
        """The operands that move a walk, each with the first number that it may not be."""
        if self.walk is None:
            return []
        if self.walk["wide"]:
            return [("wHalo", int(self.walk["halo_below"])), ("wOffset", int(self.walk["offset_below"]))]
        bits = int(self.walk["offset_bits"])
        return [(f"im2col_offsets[{k}]", 2**bits) for k in range(int(self.walk["spatial"]))] if bits else []

    def walked_image(self) -> Coordinate | None:
        """The image of a walk: pixels by channels."""
        if len(self.strides) != self.rank or min(self.channels, self.pixels, *self.strides) < 1 or not self.plain:
            return None
        if self.interleave == 0:
            return (self.pixels, self.channels)
        slice_bits = 8 * int(self.slices["slice_bytes"]) if self.slices else 0
        return (self.pixels, slice_bits // self.bits) if slice_bits and slice_bits % self.bits == 0 else None

    def visited(self, at: Sequence[int], extents: Sequence[int]) -> Iterator[Coordinate]:
        """The coordinates of each pixel that a walk visits, at its first channel; not of a wide walk."""
        here, lower, upper = list(at), self.corners[0], self.corners[1]
        for _ in range(self.pixels):
            yield tuple(here)
            for k, low, high in reversed(list(zip(self.spatial, lower, upper, strict=True))):
                here[k] += self.strides[k]
                if here[k] < extents[k] + high:
                    break
                here[k] = low
            else:
                here[0] += self.strides[0]

    def _image(self) -> Coordinate | None:
        if self.walk is not None:
            return self.walked_image()
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

    def walk_problem(self) -> Problem | None:
        """A bounding box of another rank, corners, channels or pixels outside their limits."""
        assert self.walk is not None
        half = 2 ** (int(self.walk["corner_bits"]) - 1)
        ends = [(0, half - 1), (-half, 0)] if self.spec["store"] else [(-half, half - 1)] * 2
        for which, corner, (least, most) in zip(("lower", "upper"), self.corners, ends, strict=True):
            if len(corner) != self.walk["spatial"]:
                return f"{self.walk['spatial']} entries of the {which} corner", f"{len(corner)}"
            if not all(least <= one <= most for one in corner):
                return f"entries of the {which} corner from {least} to {most}", f"{corner}"
        if not 1 <= self.channels <= self.walk["most_channels"]:
            return f"1 to {self.walk['most_channels']} channels of a pixel", f"{self.channels}"
        if not self.walk["pixels"] and not 1 <= self.pixels <= self.walk["most_pixels"]:
            return f"1 to {self.walk['most_pixels']} pixels of a column", f"{self.pixels}"
        return self._row_problem() or self._region_problem(self.channels * self.pixels)

    def box_problem(self) -> Problem | None:
        """A box of another rank or outside its limits."""
        if self.walk is not None:
            return self.walk_problem()
        if len(self.box) != self.rank:
            return f"{self.rank} extents", f"{len(self.box)}"
        if not all(1 <= extent <= self.limits["box"] for extent in self.box):
            return f"extents from 1 to {self.limits['box']}", f"{self.box}"
        if self.spec["rows"] and self.box[0] != 1:
            return "a box of one row", f"{self.box[0]} rows"
        samples = [len(range(0, extent, max(1, stride))) for extent, stride in zip(self.box, self.strides, strict=False)]
        sampled = len(self.strides) == self.rank and min(self.strides) > 0
        return self._row_problem() or (self._region_problem(prod(samples)) if sampled else None)

    def _region_problem(self, elements: int) -> Problem | None:
        most = int(self.limits["region_bytes"])
        return (f"elements of at most {most} bytes", f"{elements * self.bits // 8} bytes") if elements * self.bits > 8 * most else None

    def _row_problem(self) -> Problem | None:
        row = self.box[-1] * self.bits
        if self.packing:
            return None if self.box[-1] == self.packing["row"] else (f"a row of {self.packing['row']}", f"{self.box[-1]}")
        if row % (8 * self.limits["multiple_bytes"]):
            return f"rows of a multiple of {self.limits['multiple_bytes']} bytes", f"{row / 8:g} bytes"
        span = self.pattern["span_bytes"] if self.pattern and not self.interleave else 0
        return (f"rows of at most {span} bytes", f"{row // 8} bytes") if span and row > 8 * span else None

    def field_problem(self) -> Problem | None:
        """A field of the tensor map outside its limits."""
        return next(self._field_problems(), None)

    def _field_problems(self) -> Iterator[Problem]:
        if self.pattern is None:
            yield "a swizzle there is", f"{self.swizzle}"
        elif self.pattern["arch"] and self.arch and not has(self.arch, self.pattern["arch"], self.spec.get("basic") or ()):
            yield f"a swizzle that {self.arch} has", f"{self.swizzle}"
        if self.packing and self.swizzle not in self.packing["patterns"]:
            yield f"swizzle in {list(self.packing['patterns'])}", f"{self.swizzle}"
        if self.walk and self.walk["patterns"] and self.swizzle not in self.walk["patterns"]:
            yield f"swizzle in {list(self.walk['patterns'])}", f"{self.swizzle}"
        if self.packing and (self.spec["store"] or self.interleave):
            yield "a load without interleave", "another copy"
        if self.interleave:
            if self.slices is None:
                yield "an interleaving there is", f"{self.interleave}"
            elif self.swizzle not in self.slices["patterns"]:
                yield f"swizzle in {list(self.slices['patterns'])}", f"{self.swizzle}"
            if self.rank not in self.limits["interleaved_ranks"] or self.spec["rows"] or (self.walk and self.walk["wide"]):
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
        if sliced is not None and shape[-1] is not None and shape[-1] != sliced["slice_bytes"] * 8 // self.bits:
            return f"a slice of {sliced['slice_bytes'] * 8 // self.bits} elements", f"{shape[-1]}"
        return None

    def geometry_problems(self, extents: Sequence[int], strides: Sequence[int]) -> dict[str, str]:
        """What is wrong with extents and strides (in bits) of the tensor: the demand, and what is found."""
        found: dict[str, str] = {}
        last = len(extents) - 1
        for k, extent in enumerate(extents[: self.rank]):
            if not 1 <= extent <= self.limits["extent"]:
                found[f"the extent of axis {k} from 1 to {self.limits['extent']}"] = f"{extent}"
            if self.packing and k == self.rank - 1 and extent % self.packing["row"]:
                found[f"the extent of axis {k} a multiple of {self.packing['row']}"] = f"{extent}"
        for k, low, high in zip(self.spatial, self.corners[0], self.corners[1], strict=False) if self.walk else ():
            if extents[k] + high - low < 1:
                found[f"a pixel of the bounding box along axis {k}"] = f"{extents[k] + high - low}"
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
                found[f"the stride of axis {k} {wanted}"] = f"{stride} bits" if stride % 8 else f"{stride // 8} bytes"
        return found


def has(arch: str, floor: str, lacking: Sequence[str]) -> bool:
    """Whether an architecture is at a plain floor (`sm_100`), and of no family that lacks what has it."""
    number, least, *others = (int("".join(filter(str.isdigit, one))) for one in (arch, floor, *lacking))
    return number >= least and number // 10 not in {other // 10 for other in others}


def specialised(contract: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[Mapping[str, Any], Fields | None]:
    """The contract with the image of the call's box as its atom, and the fields; as it is where the call has no box."""
    spec, forms = contract.get("box"), call.get("operands") or ()
    parameters: Mapping[str, Any] = call.get("parameters") or {}
    if spec is None or len(forms) != len(contract["operands"]) or not all("layout" in form for form in forms):
        return contract, None
    extents = ("box", "element_strides", "pixel_box_lower_corner", "pixel_box_upper_corner")
    needed = (*extents, "coords", "coord_steps", "gather4", "im2col_offsets")
    if not all(isinstance(parameters.get(name) or [], list) for name in needed) or not (spec["walk"] or parameters.get("box")):
        return contract, None
    if not all(isinstance(one, int) for name in extents for one in parameters.get(name) or ()):
        return contract, None
    place = next(k for k, operand in enumerate(contract["operands"]) if operand["name"] == spec["tensor"])
    if not parameters.get("coords") or not all(isinstance(step, list) for step in parameters.get("coord_steps") or ()):
        return contract, None
    codes = ("swizzle", "interleave", "oob_fill", "l2_promotion", "channels_per_pixel", "pixels_per_column")
    if not all(isinstance(parameters.get(name) or 0, int) for name in codes):
        return contract, None
    fields = Fields(spec, parameters, View(forms[place]).dtype, str(call.get("arch") or ""))
    atom = tuple((f"box.{k}", extent) for k, extent in enumerate(fields.image or ()))
    operands = tuple({**operand, "bits": fields.bits} for operand in contract["operands"])
    return {**contract, "atom": atom, "operands": operands}, fields
