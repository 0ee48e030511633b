#!/usr/bin/env python3
"""A course repository for students: the lab with some of the finished stages, and no code of the others anywhere.

    tests/handout.py STAGES OUT      STAGES such as 1 or 1,2; OUT must not exist
    tests/handout.py --lines STAGES  the lines that must not be in it, one a line

What goes: the other stages, every fenced block in the docs that quotes them, the answers, the variants and the broken
allocators, which are made of solutions, and the teacher's pages. What stays: chapters, hints, tests, measured figures.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
GONE = re.compile(r"docs/(answers|mutants|reading-failures|teaching)\.md|docs/variants?(/.*)?|tests/mutants(/.*|\.mk)"
                  r"|tests/handout\..*|tests/grade\.test\.sh|README\.md|\.ci/.*|stages/(my.*|predictions\.txt)")
LEAST = 30  # characters: shorter lines say little, and many files have them
NOTE = "*Not in this copy: it is yours to write.*"

README = """# alloclab: build malloc, one idea at a time

You have {kept}, finished; the next ones are yours to write. Start with [docs/start.md](docs/start.md); the chapters are
in [docs/](docs/README.md).

    make setup                    installs what the tests need
    make start stage={first}            begins your stage, stages/my{first}
    make stage=my{first} test           which goals are open, and what is broken
    make hint stage=my{first}           one hint at a time
    make stage=my{first} bench          how fast it is
    make grade stage=my{first}          your points, as your teacher will count them
    make progress                 where you stand, and the next step

`make help` lists the rest. The lab is under the license in [LICENSE](LICENSE).
"""


def stop(words):
    sys.exit(f"handout: {words}")


def split_stages(wanted):
    """Folders of the stages that stay, and of those that go."""
    folders = sorted(p.parent.name for p in TOP.glob("stages/[1-9]-*/mm.c"))
    numbers = {f.split("-")[0] for f in folders}
    asked = set(wanted.replace(",", " ").split())
    if "1" not in asked or not asked <= numbers:
        stop(f"stages={wanted} will not do; stages= takes 1, or 1 and more of: {' '.join(sorted(numbers))}")
    return ([f for f in folders if f.split("-")[0] in asked], [f for f in folders if f.split("-")[0] not in asked])


def secret_lines(kept, removed):
    """Lines of the stages that go which no stage that stays has, nor what all share."""
    known = "\n".join(p.read_text() for p in [*(TOP / "stages" / f / "mm.c" for f in kept), *TOP.glob("common/*")])
    sources = [p for f in removed for p in (TOP / "stages" / f).glob("*.[ch]")]
    lines = {line.strip() for p in sources for line in p.read_text().splitlines()}
    return sorted(line for line in lines if len(line) >= LEAST and line not in known)


def without_code(text, secrets, removed):
    """A page without blocks that quote a stage that goes, and without the marks that would bring them back."""
    def block(match):
        marker, body = match.group(1) or "", match.group(2)
        quotes = re.search(r"<!-- (code|diff):", marker) and any(f in marker for f in removed)
        return NOTE + "\n" if quotes or any(s in body for s in secrets) else body
    return re.sub(r"(<!-- (?:code|diff|output|measured): .*? -->\n\n?)?(^```.*?^```\n)", block, text, flags=re.S | re.M)


def without_links(path, text):
    """Links to what is not there become words."""
    def link(match):
        words, target = match.group(1), match.group(2).split("#")[0]
        if not target or re.match(r"[a-z]+:", target) or (path.parent / target).exists():
            return match.group(0)
        return f"{words} (ask your teacher)" if target.endswith("answers.md") else words
    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def export(kept, removed, out):
    if out.exists():
        stop(f"{out} exists already, and stays as it is; say another folder with out=DIR")
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True)
    if listed.returncode != 0:
        stop("it copies the files that git knows; this is no git repository")
    for name in listed.stdout.splitlines():
        source = TOP / name
        if GONE.fullmatch(name) or not source.is_file() or any(name.startswith(f"stages/{f}/") for f in removed):
            continue
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, out / name)
    secrets, first = secret_lines(kept, removed), int(kept[-1].split("-")[0]) + 1
    names = " and ".join(f"stage {f.split('-')[0]}" for f in kept)
    (out / "README.md").write_text(README.format(kept=names, first=first))
    for path in out.rglob("*"):
        if path.suffix == ".md":
            text = without_links(path, without_code(path.read_text(), secrets, removed))
        elif path.suffix in (".mk", ".sh") or path.name == "broken.c":
            # The lab's tests of itself that name a stage take one that is there.
            text = re.sub("|".join(removed), kept[-1], path.read_text()) if removed else path.read_text()
        elif path.name == "mkdocs.yml":
            text = "".join(line for line in path.read_text().splitlines(True)
                           if not re.search(r"\b(answers|mutants|reading-failures|teaching)\.md", line))
        else:
            continue
        path.write_text(text)
    print(f"{out}: {names}, and no code of: {', '.join(removed) or 'none'}. To try it: make -C {out} stage=1 test")


def main():
    if len(sys.argv) != 3 or not all(sys.argv[1:]):
        stop("type make handout stages=1 out=DIR")
    if sys.argv[1] == "--lines":
        print("\n".join(secret_lines(*split_stages(sys.argv[2]))))
    else:
        export(*split_stages(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
