"""The style sheet: two schemes of colours, a page for screens of any width, and one for paper.

Colours differ in lightness as much as in hue. The matrix runs from orange (the row loses) over the neighbour of the
background to blue (the row wins), which the colour-blind tell apart, too. Colours are those of `preflearn.plots.marks`.
"""

from __future__ import annotations

from functools import partial

from preflearn.plots.marks import SCHEMES

STEPS = 11  # colours of the matrix, an odd number: the middle one is an even chance


def style_sheet() -> str:
    """Return the whole style sheet."""
    light, dark = (_variables(scheme) for scheme in SCHEMES.values())
    cells = "".join(f".m{k}{{fill:var(--m{k});background:var(--m{k});color:var(--i{k})}}" for k in range(STEPS))
    inks = "".join(f"text.i{k}{{fill:var(--i{k})}}" for k in range(STEPS))
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{_PAGE}{cells}{inks}{_PAPER}"
    )


def matrix_colours(scheme: str) -> list[tuple[str, str]]:
    """Return background and ink of every step of the matrix."""
    of = SCHEMES[scheme]
    half = STEPS // 2
    found = []
    for k in range(STEPS):
        end = of["low"] if k < half else of["high"]
        fill = _mixed(of["middle"], end, abs(k - half) / half)
        ink = max(of["dark-ink"], of["light-ink"], key=partial(contrast, fill))
        found.append((fill, ink))
    return found


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _variables(scheme: dict[str, str]) -> str:
    name = next(key for key, value in SCHEMES.items() if value is scheme)
    plain = "".join(f"--{key}:{value};" for key, value in scheme.items())
    return plain + "".join(f"--m{k}:{fill};--i{k}:{ink};" for k, (fill, ink) in enumerate(matrix_colours(name)))


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(one: str, other: str, part: float) -> str:
    return "#" + "".join(
        f"{round(a + part * (b - a)):02x}" for a, b in zip(_channels(one), _channels(other), strict=True)
    )


def _luminance(colour: str) -> float:
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_PAGE = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:auto}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
.page{max-width:66rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .25rem;font-weight:650;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .6rem;font-weight:650}
h3{font-size:1rem;margin:1.2rem 0 .3rem;font-weight:650}
section{margin:2.6rem 0 0;padding-top:1.4rem;border-top:1px solid var(--rule)}
p,ul,ol,dl{margin:.5rem 0;max-width:44rem}
ul,ol{padding-left:1.2rem}
li{margin:.3rem 0}
a{color:var(--line);text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,.frame:focus-visible,.slide:focus-visible{outline:2px solid var(--line);
outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.3rem .6rem}
.soft,figcaption,caption,.source{color:var(--soft)}
.source{margin:0}
.answer{margin:1.4rem 0 0;padding:1rem 1.2rem;background:var(--panel);border-left:4px solid var(--line);
border-radius:0 .4rem .4rem 0}
.part{margin:3.6rem 0 -1.4rem;font-size:1.5rem;font-weight:650;padding-top:1.2rem;border-top:3px solid var(--rule)}
.tools{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;align-items:center}
.tools input{font:inherit;padding:.25rem .6rem;border:1px solid var(--rule);border-radius:.4rem;max-width:100%;
background:var(--panel);color:inherit}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
th[aria-sort=ascending] button::after{content:" \\25b4"}
th[aria-sort=descending] button::after{content:" \\25be"}
tr[hidden]{display:none}
#items td,#items th[scope=col],#more-items td{white-space:nowrap}
nav p{margin:.5rem 0 -1rem;font-size:.92rem;color:var(--soft)}
.answer p{margin:.35rem 0;font-size:1.08rem;max-width:48rem}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;max-width:none;margin:1.2rem 0 0;
font-size:.92rem}
nav li{margin:0}
nav a{display:inline-block;padding:.15rem 0}
.warned{list-style:none;padding:0}
.warned li{border-left:3px solid var(--mark);padding:.1rem 0 .1rem .8rem;margin:.6rem 0}
.failed{color:var(--soft);font-style:italic}
.slide{overflow-x:auto;max-width:100%}
.slide svg{min-width:34rem}
.frame{overflow:auto;width:fit-content;max-width:100%;margin:1rem 0;border:1px solid var(--rule);border-radius:.4rem}
.frame{background:linear-gradient(to left,var(--page) 40%,transparent) right/3rem 100% no-repeat local,
linear-gradient(to left,var(--shade),transparent) right/1.1rem 100% no-repeat scroll}
.long{max-height:34rem}
table{border-collapse:separate;border-spacing:0;font-size:.92rem}
caption{text-align:left;padding:.5rem .7rem .2rem;font-size:.88rem}
th,td{padding:.32rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
tbody tr:last-child>*{border-bottom:0}
caption span{position:sticky;left:.7rem;display:inline-block;max-width:min(50rem,calc(100vw - 3.6rem))}
thead th{position:sticky;top:0;background:var(--panel);font-weight:600;vertical-align:bottom;z-index:1}
tbody th{font-weight:500}
.k{white-space:nowrap}
bdi{overflow-wrap:anywhere}
td bdi:not(.k),th bdi:not(.k),.words{display:inline-block;min-width:11rem;max-width:24rem;overflow-wrap:anywhere}
.n{text-align:right}
td.n{white-space:nowrap}
.facts{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.25rem 1.4rem;max-width:52rem}
@media (max-width:40rem){.guide{grid-template-columns:1fr;gap:0}.guide dd{margin-bottom:.7rem}}
.guide dt{font-weight:600;color:inherit}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
details{margin:.8rem 0}
summary{cursor:pointer;color:var(--line);padding:.2rem 0}
.beside{display:grid;gap:0 2.2rem}
.beside>*{min-width:0}
@media (min-width:60rem){.beside{grid-template-columns:minmax(0,33rem) minmax(0,1fr);align-items:start}}
figure{margin:1rem 0}
svg{display:block;width:100%;height:auto;max-width:36rem;fill:currentColor;font-size:12.5px}
figcaption{font-size:.88rem;max-width:36rem;margin-top:.4rem}
svg text.small{font-size:11px}
svg text.tiny{font-size:9px}
@media (max-width:30rem){svg{font-size:13.5px}svg text.small{font-size:12px}
.slide svg{font-size:12.5px}.slide svg text.small{font-size:11px}}
svg text.soft,svg text.small.soft,svg text.tiny.soft{fill:var(--soft)}
svg text.mark{fill:var(--mark)}
.axis{stroke:var(--soft);stroke-width:1}
.grid{stroke:var(--rule);stroke-width:1}
.even{stroke:var(--soft);stroke-width:1;stroke-dasharray:3 3}
.reach{stroke:var(--band);stroke-width:5;stroke-linecap:round}
.thin{stroke:var(--line);stroke-width:1.6}
.dot{fill:var(--line)}
.bar{fill:var(--line)}
.curve{fill:none;stroke:var(--line);stroke-width:1.6}
.edge{stroke:var(--soft);stroke-opacity:.45}
.edge.many{stroke-opacity:.3}
.upset{stroke:var(--mark);stroke-opacity:.7;stroke-dasharray:4 2}
.upset.many{stroke-opacity:.55;stroke-dasharray:none}
.circle{stroke:var(--mark);stroke-linecap:round}
.head{fill:var(--mark)}
.matrix{width:auto;font-size:.8rem}
.matrix tbody td{min-width:0;padding:.2rem .4rem;text-align:right;border:0}
.matrix th{white-space:nowrap}
.matrix thead th{text-align:right}
.matrix tbody th{position:sticky;left:0;background:var(--panel)}
.matrix th bdi{display:inline-block;min-width:0;max-width:9rem;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap;vertical-align:bottom}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.88rem}
"""

_PAPER = """
@media print{
:root{color-scheme:light}
body{font-size:10pt;background:#fff}
.page{max-width:none;padding:0}
nav,.skip,.tools{display:none}
section{margin-top:1.2rem;padding-top:.7rem}
.frame,.slide{overflow:visible;max-height:none;border:0;background:none}
thead th{position:static}
table{font-size:8.5pt}
th,td{padding:.15rem .4rem}
tr,li,figure,.answer{break-inside:avoid}
h2,h3,caption{break-after:avoid}
.matrix{font-size:5.5pt}
.matrix tbody td{padding:.5pt 1pt}
.matrix tbody th{position:static;padding:.5pt 2pt}
svg{max-width:14cm}
details::details-content{content-visibility:visible;block-size:auto}
summary{color:inherit;list-style:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
"""
