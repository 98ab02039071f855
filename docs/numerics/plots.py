# SPDX-License-Identifier: Apache-2.0
"""Plots of errors over the input, as wide as a phone's screen, on light or dark paper: for peers.py."""
import math

SLICES = 160
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 300, 44, 388, 56, 256
LEAST, MOST = -1, 9  # powers of ten; what is beyond stands at the edge
LINES = {"vjp": ("#0072b2", ""), "PyTorch": ("#d55e00", "5 3"), "oneDNN": ("#009e73", "2 2")}

STYLE = """<style>
svg text{font-size:11px;fill:currentColor}svg .title{font-size:13px}
.grid{stroke:#8885;stroke-width:1}svg{color:#1a1d21}.paper{fill:#fff}
@media(prefers-color-scheme:dark){svg{color:#e4e6e9}.paper{fill:#1e2129}}
</style>"""


def height(error):
    power = math.log10(max(error, 10.0 ** LEAST)) if error < 10.0 ** MOST else MOST
    return BOTTOM - (power - LEAST) * (BOTTOM - TOP) / (MOST - LEAST)


def grid(low, high):
    for power in range(0, MOST + 1, 3):
        y = height(10.0 ** power)
        label = "1" if power == 0 else f"10<tspan dy='-4' font-size='8'>{power}</tspan>"
        yield f"<line class='grid' x1='{LEFT}' x2='{RIGHT}' y1='{y:.1f}' y2='{y:.1f}'/>"
        yield f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{label}</text>"
    step = 20 if high - low > 100 else 2
    for value in range(math.ceil(low / step) * step, high + 1, step):
        x = LEFT + (value - low) * (RIGHT - LEFT) / (high - low)
        yield f"<line class='grid' x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{BOTTOM}'/>"
        if value % (2 * step) == 0:
            yield f"<text x='{x:.1f}' y='{BOTTOM + 15}' text-anchor='middle'>{value}</text>"


def line(number, name, errors):
    colour, dash = LINES[name]
    step = (RIGHT - LEFT) / len(errors)
    points = " ".join(f"{LEFT + (i + 0.5) * step:.1f},{height(error):.1f}" for i, error in enumerate(errors))
    look = f"fill='none' stroke='{colour}' stroke-width='1.8' stroke-dasharray='{dash}'"
    x = LEFT + 90 * number
    yield f"<polyline {look} points='{points}'/>"
    yield f"<line {look} x1='{x}' x2='{x + 22}' y1='36' y2='36'/><text x='{x + 28}' y='40'>{name}</text>"


def errors(title, low, high, lines):
    """The SVG of {library: errors in slices of low .. high}."""
    parts = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' "
             f"viewBox='0 0 {WIDTH} {HEIGHT}' role='img' font-family='system-ui,sans-serif'>",
             f"<title>{title}: worst error in ULP over src</title>", STYLE,
             f"<rect class='paper' width='{WIDTH}' height='{HEIGHT}'/>",
             f"<text class='title' x='12' y='20'>{title}, f32: worst error in ULP</text>"]
    parts += grid(low, high)
    for number, (name, values) in enumerate(lines.items()):
        parts += line(number, name, values)
    parts.append(f"<text x='{(LEFT + RIGHT) / 2}' y='{HEIGHT - 12}' text-anchor='middle'>src</text>")
    return "\n".join(parts + ["</svg>"]) + "\n"
