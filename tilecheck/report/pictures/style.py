"""The colours, light and dark, and the rules that pictures share with the page around them."""

LIGHT = """--page:#fff;--panel:#f6f8fa;--ink:#1f2328;--muted:#59636e;--line:#d1d9e0;--grid:#aab4be;--link:#0757ba;
--good:#1a7f37;--bad:#c21c2b;--bad-bg:#ffe1df;--warn:#8a5a00;--warn-bg:#fff4c9;--mark:#fff1b8;
--c0:#d6e7ff;--c1:#d2f2d9;--c2:#fde3c4;--c3:#e6dcfb;--c4:#c9f0f2;--c5:#fbd9ea;--c6:#ecedb4;--c7:#dde1e6"""
DARK = """--page:#0f1318;--panel:#171c23;--ink:#e6eaef;--muted:#9aa6b2;--line:#323b46;--grid:#566270;--link:#7cb5ff;
--good:#4ec06a;--bad:#ff7a72;--bad-bg:#54201f;--warn:#e0b040;--warn-bg:#3f3312;--mark:#5a4a10;
--c0:#1c3a63;--c1:#1b4a2c;--c2:#5b3a14;--c3:#40306b;--c4:#124b50;--c5:#5c2443;--c6:#4a4b14;--c7:#39414b"""
PICTURE = """.tc{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:var(--page)}
.tc text{fill:var(--ink);white-space:pre}.tc .m{fill:var(--muted)}.tc .s{font-size:10px}.tc .b{font-weight:700}.tc .e{text-anchor:end}.tc .c{text-anchor:middle}
.tc .x,.tc .x text{fill:var(--bad)}.tc rect{fill:none}.tc .cell{stroke:var(--line)}.tc .page{fill:var(--page)}.tc .area{fill:var(--panel);stroke:var(--line)}
.tc .c0{fill:var(--c0)}.tc .c1{fill:var(--c1)}.tc .c2{fill:var(--c2)}.tc .c3{fill:var(--c3)}.tc .c4{fill:var(--c4)}.tc .c5{fill:var(--c5)}.tc .c6{fill:var(--c6)}.tc .c7{fill:var(--c7)}
.tc .wrong{fill:var(--bad-bg);stroke:var(--bad)}.tc .mark{fill:none;stroke:var(--ink);stroke-width:2.5}.tc .zero{fill:var(--mark);stroke:var(--warn)}.tc .from{fill:none;stroke:var(--link);stroke-width:2}
.tc .to{fill:var(--c0);stroke:var(--link)}.tc line{stroke:var(--grid)}.tc .edge{stroke:var(--bad);stroke-width:2}.tc .faint{stroke:var(--line)}.tc .ghost{fill:none;stroke:var(--good);stroke-width:2;stroke-dasharray:4 3}.tc .off{stroke:var(--line);stroke-dasharray:2 3}"""


def colours() -> str:
    """The two palettes, as variables of the root element; paper is light."""
    return f":root{{color-scheme:light dark;{LIGHT}}}\n@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}\n@media print{{:root{{{LIGHT}}}}}\n"
