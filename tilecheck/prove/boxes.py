"""Clauses about copies of boxes that need the fields alone: types, box, descriptor, barrier; and the order in which all of them are decided."""

from __future__ import annotations

from functools import lru_cache

from tilecheck.boxes import Box, Walked, box_of
from tilecheck.prove import box_hazards, images, operands, parameters, tensors
from tilecheck.prove.clause import NOTHING, Clause, Finding
from tilecheck.prove.decisions import Decisions
from tilecheck.prove.obligation import Outcome
from tilecheck.prove.problem import Problem, Side
from tilecheck.prove.verdict import PROVED
from tilecheck.scopes import names_thread
from tilecheck.spec import arch_rank
from tilecheck.symbolic import terms


def decide(checker: Decisions, problem: Problem) -> None:
    """Every clause that is owed, in order."""
    box = box_of(problem.call, problem.contract)
    assert box is not None
    sides = {side.spec.name: side for side in problem.sides}
    tensor, image = sides[box.copy.tensor], sides.get(box.copy.image or "")
    architectures(checker, problem, box)
    barrier(checker, problem)
    good = checker.storage(problem)
    wrong = type_findings(box, tensor)
    checker.static(
        f"{tensor.spec.name}.type", f"{tensor.name} has elements of a type that a tensor map has, and the operation takes", wrong
    )
    together = checker.clauses(problem, operands.participation(problem, checker.tiers))
    checker.predicated(problem)
    boxed = box_findings(box)
    checker.static("box", box_statement(box), boxed)
    fields = [*field_findings(problem.call.arch, box), *uniform_findings(problem, tensor)]
    checker.static("descriptor", "every field of the tensor map is in its limits", fields)
    named = checker.clauses(problem, parameters.clauses(problem))
    if box.walked is not None and image is not None and not known(checker, problem, box):
        haloed(checker, problem, image, box.walked)
        return
    if together:
        repeats = _repeats(checker, problem, box, image)
        whole = tensor.spec.name in good and tensors.accesses(checker, problem, tensor, box)
        if repeats is not None:
            stepped = coordinates(checker, problem, box, repeats)
            if whole and box.walked is not None and not (boxed or fields) and stepped:
                stepped = checker.clauses(problem, images.starts(problem, box, tensor, repeats, tensors.demanded(tensor, box)))
            legal = whole and not (boxed or fields or wrong) and named and stepped
            if image is not None and image.spec.name in good:
                images.accesses(checker, problem, image, box, repeats)
            if legal and image is not None and image.spec.write:
                checker.clauses(problem, parameters.transaction(problem, repeats))
            if legal and checker.status() == PROVED:
                checker.found_hazards = box_hazards.hazards(checker, problem, box, repeats)
    checker.backing(problem, good)


def coordinates(checker: Decisions, problem: Problem, box: Box, repeats: tuple[int, ...]) -> bool:
    """The coords clauses; whether they hold."""
    wrong = images.coordinate_findings(problem, box, repeats)
    checker.static("coords", images.STATEMENT, wrong)
    return not wrong and checker.clauses(problem, images.coordinates(problem, box, repeats))


def known(checker: Decisions, problem: Problem, box: Box) -> bool:
    """Whether the image of a walk is known: no instruction loads halo pixels."""
    assert box.walked is not None
    return box.walked.halo == 0 or (box.walked.plain and checker.tiers.decide(images.no_halo(problem, box)).holds is True)


def haloed(checker: Decisions, problem: Problem, image: Side, walked: Walked) -> None:
    """What is known of a load of halo pixels: the operands in their limits, but not the image."""
    checker.static("coords", images.STATEMENT, images.offset_findings(walked))
    reason = "where in shared memory the halo pixels lie, and which pixels they are, stands in figures of PTX ISA 5.5.5.3 only; with wHalo 0 there are none"
    clause = Clause(
        f"{image.spec.name}.image", "every pixel lies where the walk puts it", NOTHING, outcome=Outcome(holds=None, reason=reason)
    )
    checker.clauses(problem, iter((clause,)))


def _repeats(checker: Decisions, problem: Problem, box: Box, image: Side | None) -> tuple[int, ...] | None:
    """The repeat extents; None where the shape of the image is not known, or wrong."""
    if image is None:
        checker.instructions = 1
        return ()
    if box.image is None or image.form.refusal is not None:
        return None
    findings = operands.shape_findings(problem, image, None)
    if findings:
        checker.static(f"{image.spec.name}.shape", operands.shape_statement(problem, image), findings)
        return None
    if not checker.clauses(problem, operands.extents(problem, image)):
        return None
    repeats = operands.own_repeats(problem, image)
    checker.instructions = 1
    for extent in repeats:
        checker.instructions *= extent
    return repeats


def architectures(checker: Decisions, problem: Problem, box: Box) -> None:
    """Fields that need a later architecture than the spelling: the floor of the call, and opcode where the call is for an earlier one."""
    packed, arch = box.packing, problem.call.arch
    floors = [one.arch for one in (packed, box.pattern) if one is not None and one.arch]
    checker.arch_floor = max((checker.arch_floor, *floors), key=arch_rank)
    if packed is not None and arch is not None and not box.copy.has(arch, packed.arch):
        needs = box.copy.needs(packed.arch)
        sentence = f"tensor maps of {packed.format} need {needs}, the call is for {arch}"
        checker.static("opcode", "the spelling is one of the ISA and the architecture has it", [Finding(sentence, needs, arch)])


def barrier(checker: Decisions, problem: Problem) -> None:
    """The barrier is in shared memory."""
    parameter = problem.contract.barrier
    if parameter is None:
        return
    space = str(problem.call.parameter(parameter.name))
    wrong = [] if space == "shared" else [Finding(f"{parameter.name} is in {space} space, a barrier is in shared memory", "shared", space)]
    checker.static(f"{parameter.name}.storage", f"{parameter.name} is in shared memory", wrong)


def type_findings(box: Box, tensor: Side) -> list[Finding]:
    """A storage dtype without a format, and one that a reduction does not take."""
    found, copy = box.format, box.copy
    if found is None:
        takes = [one for one in copy.formats if box.dtype in one.dtypes]
        wanted = ", ".join(one.name for one in takes) or "a dtype that a tensor map has"
        named = f" as {box.format_name}" if box.format_name is not None else ""
        return [
            Finding(f"{tensor.name} has elements of type {box.dtype}, which no tensor map describes{named}", wanted, f"{box.dtype}{named}")
        ]
    if copy.types is not None and box.dtype not in copy.types:
        wanted = ", ".join(copy.types)
        return [Finding(f"{tensor.name} has elements of type {box.dtype}, the reduction takes {wanted}", wanted, box.dtype)]
    return []


def box_statement(box: Box) -> str:
    """What the box clause asks."""
    if box.walked is None:
        return "the box has one extent for each dimension of the tensor map, in its limits"
    return "the bounding box has one corner for each of its axes, and corners, channels and pixels are in their limits"


@lru_cache(maxsize=512)
def box_findings(box: Box) -> list[Finding]:
    """What is wrong with the box."""
    copy, limits = box.copy, box.copy.limits
    if box.walked is not None:
        return walk_findings(box, box.walked)
    if len(box.extents) != copy.rank:
        return [
            Finding(
                f"the box has {len(box.extents)} extents, the tensor map {copy.rank} dimensions",
                f"{copy.rank} extents",
                f"{len(box.extents)} extents",
            )
        ]
    found = [
        Finding(f"box[{k}] is {extent}, expected 1 to {limits.box}", f"1 to {limits.box}", str(extent))
        for k, extent in enumerate(box.extents)
        if not 1 <= extent <= limits.box
    ]
    if copy.rows and box.extents[0] != 1:
        found.append(Finding(f"the box has {box.extents[0]} rows: rows chosen one by one have a box of one", "1", str(box.extents[0])))
    return found + row_findings(box) + region_findings(box)


def region_findings(box: Box) -> list[Finding]:
    """A box that has more elements than a map can describe."""
    most = box.copy.limits.region_bytes
    if not box.measured or box.region_bits <= 8 * most:
        return []
    size = f"{box.region_bits // 8} bytes"
    return [Finding(f"the elements of the box are {size}, at most {most} are one box", f"at most {most} bytes", size)]


def walk_findings(box: Box, walked: Walked) -> list[Finding]:
    """What is wrong with corners, channels and pixels."""
    mode, found = walked.mode, list[Finding]()
    low, high = -(1 << (mode.corner_bits - 1)), (1 << (mode.corner_bits - 1)) - 1
    stored = {"lower": (0, high), "upper": (low, 0)} if box.copy.store else {}
    for which, corner in (("lower", walked.lower), ("upper", walked.upper)):
        least, most = stored.get(which, (low, high))
        name, why = f"pixel_box_{which}_corner", ", a store stays inside the tensor" if which in stored else ""
        if len(corner) != mode.spatial:
            found.append(Finding(f"{name} has {len(corner)} entries, expected {mode.spatial}", f"{mode.spatial} entries", f"{len(corner)}"))
        found.extend(
            Finding(f"{name}[{k}] is {one}, expected {least} to {most}{why}", f"{least} to {most}", str(one))
            for k, one in enumerate(corner)
            if not least <= one <= most
        )
    counts = [("channels_per_pixel", walked.channels, mode.most_channels)]
    counts += [] if mode.pixels else [("pixels_per_column", walked.pixels, mode.most_pixels)]
    found.extend(
        Finding(f"{name} is {one}, expected 1 to {most}", f"1 to {most}", str(one)) for name, one, most in counts if not 1 <= one <= most
    )
    return found + row_findings(box) + region_findings(box)


def row_findings(box: Box) -> list[Finding]:
    """What is wrong with the innermost extent."""
    packed, limits, inner = box.packing, box.copy.limits, box.extents[-1]
    if packed is not None:
        if inner != packed.row:
            return [Finding(f"the innermost extent is {inner}, that of {packed.format} is {packed.row}", str(packed.row), str(inner))]
        return []
    found: list[Finding] = []
    if inner * box.bits % (8 * limits.multiple_bytes):
        text = f"{inner} x {box.bits} bits = {inner * box.bits // 8} bytes"
        found.append(
            Finding(
                f"a row of the box is {text}, no multiple of {limits.multiple_bytes}", f"a multiple of {limits.multiple_bytes} bytes", text
            )
        )
    span = box.pattern.span_bytes if box.pattern is not None and not box.interleave else 0
    if span and inner * box.bits > 8 * span:
        text = f"{inner * box.bits // 8} bytes"
        found.append(
            Finding(f"a row of the box is {text}, the span of swizzle {box.swizzle} is {span} bytes", f"at most {span} bytes", text)
        )
    return found


@lru_cache(maxsize=512)
def field_findings(arch: str | None, box: Box) -> list[Finding]:
    """What is wrong with swizzle, interleave, fill, promotion and element strides."""
    copy, limits, found = box.copy, box.copy.limits, list[Finding]()

    def wrong(field: str, value: object, wanted: str) -> None:
        found.append(Finding(f"{field} is {value}, expected {wanted}", wanted, str(value)))

    pattern, packed = box.pattern, box.packing
    codes = [one.code for one in copy.patterns]
    if pattern is None:
        wrong("swizzle", box.swizzle, f"{codes[0]} to {codes[-1]}")
    elif arch is not None and not copy.has(arch, pattern.arch):
        wrong("swizzle", f"{box.swizzle} on {arch}", f"a swizzle that {arch} has ({pattern.code} needs {copy.needs(pattern.arch)})")
    if packed is not None and box.swizzle not in packed.patterns:
        wrong(f"swizzle of {packed.format}", box.swizzle, " or ".join(map(str, packed.patterns)))
    if packed is not None and (copy.store or box.interleave):
        found.append(Finding(f"{packed.format} is loaded only, and not interleaved", "a load without interleave", "another copy"))
    if box.walked is not None and box.walked.mode.patterns and box.swizzle not in box.walked.mode.patterns:
        wrong(f"swizzle of {copy.mode}", box.swizzle, " or ".join(map(str, box.walked.mode.patterns)))
    if box.interleave:
        found.extend(interleave_findings(box))
    if box.fill not in {0, 1}:
        wrong("oob_fill", box.fill, "0 (zeros) or 1 (NaN)")
    exact = box.format is not None and box.format.floating
    if box.fill == 1 and not exact:
        wrong("oob_fill", f"1 (NaN) for {box.dtype}", "0: only floating-point formats have a NaN")
    if not 0 <= box.promotion < limits.promotions:
        wrong("l2_promotion", box.promotion, f"0 to {limits.promotions - 1}")
    if len(box.strides) != copy.rank:
        wrong("element_strides", f"{len(box.strides)} entries", f"{copy.rank} entries")
    found.extend(
        Finding(f"element_strides[{k}] is {stride}, expected 1 to {limits.element_stride}", f"1 to {limits.element_stride}", str(stride))
        for k, stride in enumerate(box.strides)
        if not 1 <= stride <= limits.element_stride
    )
    if not box.interleave and box.strides and box.strides[-1] != 1:
        wrong("the innermost element stride", box.strides[-1], "1 without interleave")
    return found


def interleave_findings(box: Box) -> list[Finding]:
    """What is wrong with an interleaving."""
    copy, sliced = box.copy, box.slices
    if sliced is None:
        codes = ", ".join(str(one.code) for one in copy.interleaves)
        return [Finding(f"interleave is {box.interleave}, expected 0, {codes}", f"0, {codes}", str(box.interleave))]
    found: list[Finding] = []
    if copy.rank not in copy.limits.interleaved_ranks:
        ranks = f"{copy.limits.interleaved_ranks[0]} to {copy.limits.interleaved_ranks[-1]}"
        found.append(Finding(f"interleave needs {ranks} dimensions, the opcode has {copy.rank}", f"{ranks} dimensions", str(copy.rank)))
    if copy.rows or (box.walked is not None and box.walked.mode.wide):
        found.append(Finding(f"the mode {copy.mode} does not interleave", "interleave 0", str(box.interleave)))
    if box.swizzle not in sliced.patterns:
        takes = " or ".join(map(str, sliced.patterns))
        found.append(Finding(f"interleave {sliced.code} takes swizzle {takes}, the call says {box.swizzle}", takes, str(box.swizzle)))
    return found


def uniform_findings(problem: Problem, tensor: Side) -> list[Finding]:
    """A tensor map is encoded once: a view of the tensor that differs between threads is none."""
    varying = {s.name for s in problem.call.symbols if s.varies != "grid"}
    return [
        Finding(f"the view of {tensor.name} depends on {term}: a tensor map is the same for all threads", "the same view", str(term))
        for term in tensor.view.symbolic
        if names_thread(term) or terms.variables(term) & varying
    ][:1]
