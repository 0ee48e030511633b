#!/usr/bin/env python3
"""Run the test suite on broken allocators: it must fail on each. docs/mutants.md has the format of a *.mutants file.

Called by tests/mutants.mk.
"""
import argparse
import concurrent.futures
import fnmatch
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
SECONDS = 120  # a run may take; a test that hangs is the suite's to end, much earlier


class Mutant:
    """A mistake, as it stands in a *.mutants file."""

    def __init__(self, name, kind, place):
        self.name, self.kind, self.place = name, kind, place
        self.stages, self.file, self.mistake, self.like = [], None, None, None
        self.blocks = []  # pairs of old and new text, of whole lines


def stop(words):
    sys.exit(f"mutants: {words}")


def read_bank():
    """All mutants, and of each kind what the first line of its file says."""
    mutants, kinds = [], {}
    for path in sorted(HERE.glob("*.mutants")):
        mutant = old = new = None
        kinds[path.stem] = path.read_text().splitlines()[0].lstrip("# ")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f"{path.relative_to(TREE)}:{number}"
            if line.startswith("== "):
                mutant, old = Mutant(line[3:].strip(), path.stem, place), None
                mutants.append(mutant)
            elif line == "@@":
                if mutant is None:
                    stop(f"{place}: a block before the first mutant")
                old, new = [], []
                mutant.blocks.append((old, new))
            elif old is not None and line[:1] in (" ", "-", "+"):
                if line[0] != "+":
                    old.append(line[1:])
                if line[0] != "-":
                    new.append(line[1:])
            elif line == "":
                old = None
            elif line.startswith("#") and old is None:
                pass
            elif mutant is not None and old is None and re.match(r"(stages|file|mistake|like): ", line):
                field, value = line.split(": ", 1)
                setattr(mutant, field, value.split() if field == "stages" else value.strip())
            else:
                stop(f"{place}: neither a field, nor a block, nor a line of one: {line}")
    check_bank(mutants)
    return mutants, kinds


def check_bank(mutants):
    names = set()
    for m in mutants:
        if m.name in names:
            stop(f"{m.place}: a second mutant called {m.name}")
        if not m.name.startswith(m.kind + "-"):
            stop(f"{m.place}: {m.name} should be called {m.kind}-..., after its file")
        if not m.stages or not m.mistake or not m.blocks:
            stop(f"{m.place}: {m.name} needs stages:, mistake: and a block")
        names.add(m.name)


class Run:
    """A mutant in a stage. Its outcome: test is "" if no test failed, error says what kept it from running."""

    def __init__(self, mutant, stage):
        self.mutant, self.stage = mutant, stage
        self.name = f"{mutant.name} {stage[0]}" if mutant else f"(no mistake) {stage[0]}"
        self.seconds, self.test, self.message, self.error = 0.0, "", "", ""

    def file(self):
        return (self.mutant and self.mutant.file) or f"stages/{self.stage}/mm.c"

    def text(self):
        """The file with the mistake in it."""
        text = (TREE / self.file()).read_text()
        for old_lines, new_lines in self.mutant.blocks if self.mutant else []:
            old, new = ("".join("\n" + line for line in lines) + "\n" for lines in (old_lines, new_lines))
            found = text.count(old)
            if found != 1:
                stop(f"{self.mutant.place}: {self.name}: {found} places of {self.file()} match its block, not one: "
                     "has the code moved? Then change the block")
            text = text.replace(old, new)
        return text


def copy_sources(run, place):
    """What the stage is built from, with the mistake in it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(TREE / "common", place / "common")
    shutil.copytree(TREE / "stages" / run.stage, place / "stages" / run.stage)
    (place / "tests").mkdir()
    (place / run.file()).write_text(run.text())


def call(command):
    """Output and status of a command; None if it did not end in time, and what it started was ended."""
    process = subprocess.Popen(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env={**os.environ, "LC_ALL": "C"}, start_new_session=True)
    try:
        return process.communicate(timeout=SECONDS)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None


class Recipe:
    """The commands by which make builds the test binaries, as it prints them when told to build nothing."""

    def __init__(self, text):
        commands = [line.split() for line in text.splitlines() if " -o " in line]
        self.compile = [c for c in commands if "-c" in c]
        self.link = {Path(output_of(c)).name: c for c in commands if "-c" not in c}

    def build(self, run, place):
        """Compile what the mistake may have changed, take the rest as make built it, and link."""
        link = list(self.link[run.stage])
        for command in self.compile:
            output = output_of(command)
            source = command[command.index("-c") + 1]
            if output not in link or not (run.file() in {source, *included(source)} or source.startswith("stages/")):
                continue
            made = place / output.replace("/", "-")
            link[link.index(output)] = str(made)
            inside = place / source if (place / source).exists() else source
            # A test is compiled for one run: do it quickly.
            quick = [] if source.startswith("stages/") else ["-O0", "-g0"]
            self.run([f"-I{place}/common" if word == "-Icommon" else
                      str(inside) if word == source else
                      str(made) if word == output else word for word in command] + ["-w", *quick])
        link[link.index("-o") + 1] = str(place / "tests" / run.stage)
        self.run(link)

    @staticmethod
    def run(command):
        output, status = call(command)
        if status != 0:
            raise ValueError(f"it does not compile: {first_line(output)}")


def output_of(command):
    return command[command.index("-o") + 1]


@functools.cache
def included(source):
    """The headers of ours that a file includes, and those that they include."""
    found = set()
    for name in re.findall(r'^#include "([^"]+)"', (TREE / source).read_text(), re.M):
        for folder in ("common", str(Path(source).parent)):
            header = f"{folder}/{name}"
            if (TREE / header).exists():
                found |= {header, *included(header)}
    return found


def first_line(output):
    lines = [line for line in output.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "")


def execute(run, recipe, build_dir):
    """Does the suite fail on it, and where?"""
    start = time.monotonic()
    place = build_dir / re.sub(r"\W+", "-", run.name)
    try:
        copy_sources(run, place)
        recipe.build(run, place)
        output, status = call([f"{place}/tests/{run.stage}", "-j1", "--fail-fast", "--color=never"])
        read_outcome(run, output, status)
    except ValueError as problem:
        run.error = str(problem)
    run.seconds = time.monotonic() - start
    shutil.rmtree(place, ignore_errors=True)
    return run


def show(run, recipe, options):
    """What `make test` would say, if the mistake were in the tree."""
    place = options.build / run.mutant.name
    copy_sources(run, place)
    recipe.build(run, place)
    output, _ = call(["tests/suite.sh", str(place), run.stage])
    if options.first:
        # For the docs, which should not change with each line that is added to a test.
        output = re.match(r"(?s).*?\n\[FAIL\][^\n]*|", output)[0]
        output = re.sub(r"^    tests/\w+\.c:\d+: .*\n(    \n)?", "", output, flags=re.M)
    print(f"{run.file()}: {run.mutant.mistake}\n\n{output}")


def read_outcome(run, output, status):
    if status is None:
        run.error = f"the suite did not end within {SECONDS} s: no test has a limit for this"
        return
    failed = re.search(r"^\[FAIL\] (\S+?)::(\S+?): ?(.*)$", output, re.M)
    if failed:
        run.test = f"{failed[1]}/{failed[2]}"
        before = output[:failed.start()]
        # What the stage itself reported says more than that it did; of a trace, what happened more than where.
        said = (re.findall(r"^alloclab: (.*); see ", before, re.M)
                or [line for line in re.findall(r"^\[----\]   (.*\S.*)$", before, re.M)
                    if not re.search(r": operation \d+ of \d+ failed", line)])
        run.message = said[0].strip() if said else failed[3]
    elif status != 0:
        run.error = f"the suite ended with status {status}, but named no test: {first_line(output)}"


class Progress:
    """A line for each run as it ends and, on a terminal, a bar below."""

    def __init__(self, runs):
        self.total, self.done, self.bar = len(runs), 0, sys.stdout.isatty()
        self.columns = shutil.get_terminal_size().columns if self.bar else 1000
        self.width = max(len(run.name) for run in runs)
        self.row("mutant, stage", "s", "caught by", "first message")

    def row(self, name, seconds, test, message):
        line = f"{name:<{self.width}}  {seconds:>4}  {test:<44}  {message}".rstrip()
        print(("\r\033[K" if self.bar else "") + line[:self.columns], flush=True)

    def step(self, run):
        self.done += 1
        self.row(run.name, f"{run.seconds:.1f}", *verdict(run))
        if self.bar:
            full = 40 * self.done // self.total
            print(f"[{'#' * full}{'.' * (40 - full)}] {self.done} of {self.total}", end="", flush=True)

    def end(self):
        if self.bar:
            print("\r\033[K", end="")


def is_bad(run):
    return bool(run.error) or (run.test == "") == (run.mutant is not None)


def verdict(run):
    if run.error:
        return "ERROR", run.error
    if run.mutant is None:
        return ("passes", "") if run.test == "" else ("FAILS", f"{run.test}: {run.message}")
    return (run.test, run.message) if run.test else ("SURVIVES", run.mutant.mistake)


def choose(mutants, stages, options):
    """The runs that were asked for. All rules must fit, also those that are not to be run now."""
    runs, seen = [], set()
    for m in mutants:
        for number in m.stages:
            stage = next((s for s in stages if s.split("-")[0] == number), None)
            if stage is None:
                stop(f"{m.place}: there is no stage {number}")
            run = Run(m, stage)
            run.text()
            fast = (m.kind, number) not in seen
            seen.add((m.kind, number))
            if (options.stage in ("", number, stage) and fnmatch.fnmatch(m.name, f"*{options.only}*")
                    and (fast or not options.fast)):
                runs.append(run)
    return runs


def print_kinds(mutants, kinds):
    stages = sorted({stage for m in mutants for stage in m.stages})
    row = "{:<12}{:>8}" + "{:>10}" * len(stages) + "  {}"
    print(row.format("kind", "mutants", *(f"stage {stage}" for stage in stages), "").rstrip())
    for kind, words in kinds.items():
        of_kind = [m for m in mutants if m.kind == kind]
        print(row.format(kind, len(of_kind), *(sum(stage in m.stages for m in of_kind) for stage in stages), words))
    print(row.format("all", len(mutants), *(sum(stage in m.stages for m in mutants) for stage in stages), "").rstrip())


def prove(chosen, stages, recipe, options):
    """Run them all; the program's status says whether the suite caught each."""
    start = time.monotonic()
    # First of all the suite must pass on what is not broken: else a failure proves nothing.
    runs = [Run(None, s) for s in stages if any(run.stage == s for run in chosen)] + chosen
    progress = Progress(runs)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(execute, run, recipe, options.build) for run in runs]):
            progress.step(done.result())
    progress.end()
    bad = [run for run in runs if is_bad(run)]
    names = {run.mutant.name for run in chosen}
    print(f"{len(names)} mutants in {len(chosen)} runs, {time.monotonic() - start:.0f} s: "
          + (f"{len(bad)} NOT AS THEY SHOULD BE" if bad else "the suite caught all"))
    for run in bad:
        print("  ".join((run.name, *verdict(run))))
    sys.exit(1 if bad else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="those whose name contains this pattern")
    parser.add_argument("--stage", default="", help="those of this stage")
    parser.add_argument("--fast", action="store_true", help="one of each kind for each stage")
    parser.add_argument("--show", default="", help="build one, and show all that the suite says")
    parser.add_argument("--first", action="store_true", help="with --show: the first failure, without line numbers")
    parser.add_argument("--kinds", action="store_true", help="print how many there are of each kind, and run none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=Path, help="folder for copies and binaries")
    parser.add_argument("--commands", type=Path, help="file with what make prints with -Bn")
    options = parser.parse_args()
    mutants, kinds = read_bank()
    if options.kinds:
        print_kinds(mutants, kinds)
        return
    recipe = Recipe(options.commands.read_text())
    stages = sorted(recipe.link)
    if options.show:
        mutants = [m for m in mutants if m.name == options.show]
    chosen = choose(mutants, stages, options)
    if not chosen:
        stop(f"none is called {options.show or f'*{options.only}*'}{f' in stage {options.stage}' if options.stage else ''}"
             "; the names are in tests/mutants/*.mutants")
    if options.show:
        show(chosen[0], recipe, options)
    else:
        prove(chosen, stages, recipe, options)


if __name__ == "__main__":
    main()
