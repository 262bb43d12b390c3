#!/usr/bin/env python3
"""A picture of a terminal: reads what `tmux capture-pane -p -e` prints and writes an SVG.

    tmux new-session -d -s dev -x 110 -y 30 'cargo controller dev examples/document'
    tmux capture-pane -p -e -t dev | docs/picture.py >docs/dev.svg
"""

import re
import sys
import unicodedata
from html import escape

WIDTH, HEIGHT, MARGIN = 8.4, 19, 14
PAPER, INK = "#0d1117", "#c9d1d9"
COLOURS = {30: "#484f58", 31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 34: "#58a6ff", 35: "#bc8cff", 36: "#39c5cf", 37: "#b1bac4"}


def pieces(line):
    """Texts of one look each: (column, text, colour, bold, dim)."""
    colour, bold, dim, column = INK, False, False, 0
    for text, codes in re.findall(r"([^\x1b]*)(?:\x1b\[([0-9;]*)m)?", line):
        if text:
            yield column, text, colour, bold, dim
            column += sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
        for code in (int(code or 0) for code in codes.split(";")):
            if code == 0:
                colour, bold, dim = INK, False, False
            bold = True if code == 1 else False if code == 22 else bold
            dim = True if code == 2 else False if code == 22 else dim
            colour = COLOURS.get(code, COLOURS.get(code - 60, INK if code == 39 else colour))


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-size="14" '
          'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace">')
    print(f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>')
    for row, line in enumerate(lines):
        for column, text, colour, bold, dim in pieces(line):
            if text.strip():
                start = column + len(text) - len(text.lstrip(" "))
                text = text.strip(" ")
                look = (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if dim else "")
                cells = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
                print(f'<text x="{MARGIN + start * WIDTH:.1f}" y="{MARGIN + (row + 0.75) * HEIGHT:.1f}" fill="{colour}"{look} '
                      f'textLength="{cells * WIDTH:.1f}" xml:space="preserve">{escape(text)}</text>')
    print("</svg>")


main()
