"""Layouts, views, and where each element of a view lies."""

from tilecheck.layout.axes import AXES, THREAD_AXES, TMEM_AXES, Axis, axis
from tilecheck.layout.dtypes import DTYPE_BITS, dtype_bits
from tilecheck.layout.notation import format_layout, parse_layout
from tilecheck.layout.steps import Broadcast, Permute, Rearrange, Reshape, Retype, Slice, Step, step_from_json
from tilecheck.layout.tile import ComposeLayout, Iter, Layout, R, S, TileLayout
from tilecheck.layout.trace import Location, RetypeCheck, SliceCheck, Trace, trace
from tilecheck.layout.view import SPACES, Tensor, View

__all__ = [
    "AXES",
    "DTYPE_BITS",
    "SPACES",
    "THREAD_AXES",
    "TMEM_AXES",
    "Axis",
    "Broadcast",
    "ComposeLayout",
    "Iter",
    "Layout",
    "Location",
    "Permute",
    "R",
    "Rearrange",
    "Reshape",
    "Retype",
    "RetypeCheck",
    "S",
    "Slice",
    "SliceCheck",
    "Step",
    "Tensor",
    "TileLayout",
    "Trace",
    "View",
    "axis",
    "dtype_bits",
    "format_layout",
    "parse_layout",
    "step_from_json",
    "trace",
]
