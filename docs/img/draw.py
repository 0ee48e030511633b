#!/usr/bin/env python3
"""Draws the pictures of the course from the data below: docs/img/draw.py [--check]

Each has a white ground of its own, so that it reads on light and on dark pages.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLOURS = {
    "header": "#c5cae9", "used": "#bbdefb", "free": "#e8f5e9", "link": "#ffe0b2", "footer": "#d1c4e9",
    "quick": "#fff9c4",
}
INK, PALE, ACCENT = "#212121", "#757575", "#d84315"


class Picture:
    def __init__(self, width, title):
        self.width, self.height, self.title, self.parts = width, 0, title, []

    def box(self, x, y, width, text, kind, height=30):
        line = min(1, width / 6)  # so that narrow boxes are not all border
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{2 * line:.1f}" '
                          f'fill="{COLOURS[kind]}" stroke="{INK}" stroke-width="{line:.2f}"/>')
        if text:
            self.text(x + width / 2, y + height / 2 + 4, text, "middle")
        self.height = max(self.height, y + height)

    def text(self, x, y, text, anchor="start", colour=INK, size=12):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{text}</text>')
        self.height = max(self.height, y + 4)

    def arrow(self, x1, x2, y, bend, colour=INK):
        """From (x1, y) to (x2, y), bent upwards or downwards by `bend`."""
        tip = "tip" if colour == INK else "tip2"
        self.parts.append(f'<path d="M{x1} {y} C{x1} {y + bend} {x2} {y + bend} {x2} {y}" fill="none" '
                          f'stroke="{colour}" stroke-width="1.4" marker-end="url(#{tip})"/>')
        self.height = max(self.height, y + max(bend, 0))

    def svg(self):
        height = self.height + 16
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" width="{self.width}" '
            f'height="{height}" font-family="sans-serif" role="img" aria-label="{self.title}">',
            f"<title>{self.title}</title>",
            *(f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
              f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>' for name, colour in (("tip", INK), ("tip2", ACCENT))),
            f'<rect width="{self.width}" height="{height}" rx="6" fill="#ffffff"/>',
            *self.parts, "</svg>", ""])


def row_of_blocks(picture, x, y, blocks, scale, height=30):
    """blocks: (bytes, text, kind). Returns the x of each block's left side."""
    starts = []
    for size, text, kind in blocks:
        starts.append(x)
        picture.box(x, y, size * scale, text, kind, height)
        x += size * scale
    return starts


def block_layout():
    """A block with a payload of 24 bytes, used and free, in each layout, to scale."""
    fields = ["size", "is_free", "magic", "prev", "next"]
    header = [(8, name, "header") for name in fields]
    links = [(8, "next_free", "link"), (8, "prev_free", "link")]
    rows = [
        ("stage 1", "used", header + [(24, "payload, 24 bytes", "used")]),
        ("", "free", header + [(24, "", "free")]),
        ("stages 2 to 4", "used", header + [(24, "payload, 24 bytes", "used")]),
        ("", "free", header + links + [(8, "", "free")]),
        ("stage 5", "used", [(8, "size|flags", "header"), (24, "payload, 24 bytes", "used")]),
        ("", "free", [(8, "size|flags", "header"), *links, (8, "size", "footer")]),
    ]
    picture = Picture(720, "A block with a payload of 24 bytes: used and free, in each stage")
    scale, left = 8.6, 150
    for offset in range(0, 65, 8):
        picture.text(left + offset * scale, 20, str(offset), "middle", PALE, 11)
    for i, (stage, state, blocks) in enumerate(rows):
        y = 30 + i * 38 + (i // 2) * 14
        picture.text(12, y + 19, stage)
        picture.text(108, y + 19, state, colour=PALE)
        row_of_blocks(picture, left, y, blocks, scale)
    return picture


def merging():
    """The four cases of free(): neighbours used or free."""
    picture = Picture(720, "The four cases of merging")
    unit = 62
    for column, title in ((20, "before free(b)"), (330, "after"), (610, "merges")):
        picture.text(column, 24, title, colour=PALE)
    for i, (before_free, after_free) in enumerate([(False, False), (False, True), (True, False), (True, True)]):
        y = 40 + i * 46
        state = lambda free: ("free", "free") if free else ("used", "used")
        row_of_blocks(picture, 20, y, [(1.3, *state(before_free)), (1.3, "b", "quick"), (1.3, *state(after_free))], unit)
        x, joined = 330, 1.3
        if before_free:
            joined += 1.3
        else:
            picture.box(x, y, 1.3 * unit, "used", "used")
            x += 1.3 * unit
        joined += 1.3 if after_free else 0
        picture.box(x, y, joined * unit, "free", "free")
        if not after_free:
            picture.box(x + joined * unit, y, 1.3 * unit, "used", "used")
        picture.text(632, y + 20, str(before_free + after_free), "middle")
    return picture


def two_lists():
    """The list of all blocks above the heap, the free list below it."""
    blocks = [("used", 120), ("free", 80), ("used", 70), ("used", 110), ("free", 120), ("used", 70), ("free", 90)]
    picture = Picture(720, "Stage 2: the list of all blocks above, the list of free blocks below")
    x, y, starts = 30, 70, []
    for kind, width in blocks:
        starts.append(x)
        picture.box(x, y, width, kind, kind)
        x += width
    for here, there in zip(starts, starts[1:]):
        picture.arrow(here + 12, there + 6, y, -32)
    picture.text(30, 24, "all blocks, in the order of addresses: stage 1 walks these to find a free one", colour=PALE)
    free = [s for s, (kind, _) in zip(starts, blocks) if kind == "free"]
    order = [free[1], free[2], free[0]]  # last in, first out: not the order of addresses
    for here, there in zip(order, order[1:]):
        picture.arrow(here + 50, there + 24, y + 30, 46 if there > here else 76, ACCENT)
    picture.text(order[0] + 50, y + 46, "first", "end", ACCENT, 11)
    picture.text(30, y + 108, "free blocks only, the one that was freed last in front: stage 2 walks these", colour=PALE)
    return picture


def size_classes():
    """Borders of the size classes on a logarithmic scale, drawn from the rule that stage 4 uses."""
    def class_of(size):
        if size < 2048:
            return size // 16
        log2 = size.bit_length() - 1
        return 128 + (log2 - 11) * 4 + (size >> (log2 - 2)) % 4

    picture = Picture(720, "Size classes of stage 4: sixteen bytes apart below 2 KB, four for each doubling above")
    left, per_doubling, first = 30, 66, 16
    at = lambda size: left + per_doubling * (size.bit_length() - 1 - 4 + size / (1 << (size.bit_length() - 1)) - 1)
    border = first
    last_class = class_of(first)
    for size in range(first, 16384 + 1, 16):
        if class_of(size) != last_class:
            x, previous = at(size), at(border)
            picture.box(round(previous, 1), 40, round(x - previous, 1), "", "header" if border < 2048 else "link")
            border, last_class = size, class_of(size)
    for size in [16 << i for i in range(11)]:
        picture.text(round(at(size), 1), 90, f"{size:,}", "middle", PALE, 11)
    picture.text(left, 28, "one size in each class, 16 bytes apart; they have a quick bin too", colour=PALE)
    picture.text(at(2048), 28, "four classes for each doubling", colour=PALE)
    return picture


def boundary_tags():
    """Who writes and who reads a footer: three neighbours in stage 5."""
    picture = Picture(720, "Stage 5: the free block in the middle has a footer, and the header after it says so")
    scale, y = 6.4, 56
    blocks = [(8, "64|P|U", "header"), (24, "payload", "used"), (8, "96|P", "header"), (8, "link", "link"),
              (8, "link", "link"), (16, "", "free"), (8, "96", "footer"), (8, "48|U", "header"), (16, "payload", "used")]
    starts = row_of_blocks(picture, 20, y, blocks, scale)
    picture.text(20, 24, "U: this block is used. P: the block before it is used.", colour=PALE)
    third, footer, free = starts[7], starts[6], starts[2]
    picture.arrow(third + 20, footer + 30, y + 30, 34)
    picture.text(footer + 16, y + 62, "P is not set: read the footer below ...", "end", size=11)
    picture.arrow(footer + 14, free + 10, y, -34)
    picture.text(free + 40, y - 6, "... and go back by 96 bytes", size=11)
    return picture


PICTURES = {"block-layout": block_layout, "merging": merging, "two-lists": two_lists, "size-classes": size_classes,
            "boundary-tags": boundary_tags}


def main():
    stale = []
    for name, draw in PICTURES.items():
        path, svg = HERE / f"{name}.svg", draw().svg()
        if path.exists() and path.read_text() == svg:
            continue
        if sys.argv[1:] == ["--check"]:
            stale.append(path.name)
        else:
            path.write_text(svg)
    if stale:
        sys.exit(f"docs/img: {', '.join(stale)} not as drawn; type: make docs-refresh")


if __name__ == "__main__":
    main()
