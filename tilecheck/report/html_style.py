"""The stylesheet of a page: no script, no font, nothing from elsewhere; light and dark, on paper and on a phone."""

from __future__ import annotations

from tilecheck.report.pictures.style import PICTURE, colours

PAGE = """*{box-sizing:border-box}html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 20px}header{padding-top:24px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:18px;margin:0}h3{font-size:15px;margin:0}h4{font-size:13px;margin:18px 0 6px;color:var(--muted);font-weight:600}
p{margin:6px 0}code,.mono,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
a{color:var(--link)}a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-9999px}.skip:focus{left:8px;top:8px;background:var(--panel);padding:6px 10px}
.muted{color:var(--muted)}.badge{display:inline-block;font:700 12px/1.7 ui-monospace,Menlo,Consolas,monospace;padding:0 8px;border-radius:10px;border:1px solid currentColor;white-space:nowrap}
.proved{color:var(--good)}.refuted{color:var(--bad)}.unproved,.vacuous,.error{color:var(--warn)}
nav ol{display:grid;grid-template-columns:max-content fit-content(48%) minmax(0,1fr);list-style:none;margin:14px 0;padding:0;border:1px solid var(--line);border-radius:8px}nav li{display:grid;grid-column:1/-1;grid-template-columns:subgrid;gap:4px 14px;padding:7px 12px;border-top:1px solid var(--line);align-items:baseline}
nav li:first-child{border-top:0}nav li .badge{justify-self:start}nav li>*{min-width:0;overflow-wrap:anywhere}
article{border:1px solid var(--line);border-radius:8px;margin:22px 0;padding:16px 18px}article>header{padding:0;display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline}article>header h2{overflow-wrap:anywhere}
.clause{border-left:4px solid var(--bad);background:var(--panel);border-radius:0 8px 8px 0;padding:12px 16px;margin:16px 0}.clause.unproved,.clause.vacuous,.clause.error{border-color:var(--warn)}
.clause h3 code{color:var(--bad)}.clause.unproved h3 code,.clause.vacuous h3 code{color:var(--warn)}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 16px;margin:10px 0}dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}
.sides{display:grid;grid-template-columns:1fr 1fr;gap:12px;margin:12px 0}.side{border:1px solid var(--line);border-radius:6px;padding:8px 12px;background:var(--page);overflow-wrap:anywhere}.side b{display:block;font-size:12px;color:var(--muted);font-weight:600}
.side.actual{border-color:var(--bad)}.side.actual code{color:var(--bad)}.side code{font-size:14px;font-weight:600}
figure{margin:14px 0 4px}figcaption{font-size:13px;color:var(--muted)}figcaption b{color:var(--ink)}.scroll{overflow-x:auto;padding:8px;margin:4px 0;border:1px solid var(--line);border-radius:6px;background:var(--page)}.scroll svg{display:block}
.repair{border:1px solid var(--good);border-radius:6px;padding:8px 12px;margin:14px 0 4px}.repair b{color:var(--good)}.note{border-left:4px solid var(--warn);background:var(--warn-bg);padding:6px 12px;margin:8px 0}
details{margin:10px 0}summary{cursor:pointer;font-weight:600;font-size:14px}table{border-collapse:collapse;width:100%;font-size:13px}td code{overflow-wrap:normal;white-space:nowrap}th,td{text-align:left;vertical-align:top;padding:4px 10px 4px 0;border-bottom:1px solid var(--line)}th{color:var(--muted);font-weight:600}td.ms{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
footer{padding-top:8px;padding-bottom:40px;font-size:13px;color:var(--muted)}
@media(max-width:640px){main,header,footer{padding-left:12px;padding-right:12px}nav ol{display:block}nav li{grid-template-columns:1fr}.sides{grid-template-columns:1fr}article{padding:12px}.clause{padding:10px 12px}dl{grid-template-columns:1fr}dd{margin-bottom:6px}table.stack thead{display:none}table.stack td{display:block;border:0;padding:1px 0}table.stack td.ms{text-align:left}table.stack tr{display:block;border-bottom:1px solid var(--line);padding:6px 0}}
@media print{body{font-size:11px}.scroll{overflow:visible;border:0}.scroll svg{max-width:100%;height:auto}article,.clause,figure{break-inside:avoid-page}article{break-inside:auto}details::details-content{content-visibility:visible;height:auto}.skip{display:none}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}"""


def stylesheet() -> str:
    """All rules of a page, pictures included."""
    return f"{colours()}{PAGE}\n{PICTURE}"
