#!/usr/bin/env python3
"""Points for a stage: from tests and counted work, never from time, so they are the same in each run.

    tests/grade.py one   --kit DIR --stage N [--format F] [--out FILE] [--seconds S] FILE.c
    tests/grade.py table --csv FILE NAME.json...    what a class got
    tests/grade.py box [COMMAND...]                 whether submissions can be shut in here; a look around inside

The submission is compiled and run in a box (bubblewrap) that holds a C compiler, the tests, and nothing else: no
network, no other submission, nothing that can be written but a small disk of its own. tests/grade.sh works in there.
Points are given out here, outside: a test that the submission's own run does not name as passed gives none.
docs/teaching.md says what for. Called by tests/grade.mk.
"""
import argparse
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
MEGA = 1 << 20
MOST_SOURCE = MEGA  # bytes of an mm.c
MOST_OUTPUT = 16 * MEGA  # bytes that a run may say
GRACE = 90  # seconds for compiling, besides those for running
# Of the reference's work and space, what costs no points.
WORK_ALLOWED, SPACE_ALLOWED = Fraction(5, 4), Fraction(21, 20)


def stop(words):
    sys.exit(f"grade: {words}")


# ---- What there is to be had ----

def read_points(stage):
    """Groups as (name, points, suites), and the tests that this stage may skip."""
    groups, may_skip = [], set()
    for line in (HERE / "grade.points").read_text().splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "skip":
            if str(stage) in words[1]:
                may_skip.add((words[2], words[3]))
        else:
            groups.append((words[0], int(words[1]), words[2:]))
    goals = {"goal": [f"goal_{stage}"], "before": [f"goal_{n}" for n in range(1, stage)]}
    return [(name, points, goals.get(name, suites)) for name, points, suites in groups], may_skip


def all_tests():
    """Names of tests by suite, from the sources: what a run must show, whatever it says itself."""
    tests = {}
    for path in HERE.glob("*.c"):
        for suite, name in re.findall(r"^(?:Parameterized)?Test\((?:struct \w+ \*\w+, )?(\w+), (\w+)", path.read_text(), flags=re.M):
            tests.setdefault(suite, []).append(name)
    return tests


def reference_counts(stage):
    """Of the finished stage: {workload: (work, heap bytes)}, as recorded."""
    return counted((TOP / "bench/recorded/counts.csv").read_text(), f"{stage}-")


def counted(text, mark):
    amounts, calls = {}, {}
    for line in text.splitlines():
        fields = line.split(",")
        if line.startswith(mark) and len(fields) == 5 and fields[2].isdigit() and fields[4].isdigit():
            amounts[fields[1], fields[3]] = int(fields[4])
            calls[fields[1]] = int(fields[2])
    return {w: (n + amounts.get((w, "searched"), 0) + amounts.get((w, "validated"), 0), amounts.get((w, "heap"), 0))
            for w, n in calls.items()}


# ---- The box ----

def have(command):
    return shutil.which(command[0]) is not None and \
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def box(folder):
    """The words before a command that shut it in, and what cannot be had here (or nothing)."""
    limits = ["prlimit", f"--as={4096 * MEGA}", "--nproc=64", f"--fsize={32 * MEGA}", "--cpu=120", "--core=0"]
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    system = []
    for path in ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"):
        if os.path.islink(path):
            system += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            system += ["--ro-bind", path, path]
    shut = [*drop, "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
            "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "TMPDIR", "/box", *system, "--proc", "/proc", "--dev", "/dev",
            "--size", str(16 * MEGA), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
            "--size", str(64 * MEGA), "--tmpfs", "/box", "--symlink", "/box", "/tmp",
            "--ro-bind", str(folder), "/in", "--remount-ro", "/", "--chdir", "/box"]
    if have([*shut, "true"]):
        return [*shut, *limits], "/in", None
    reason = "bubblewrap is not installed: apt-get install bubblewrap" if not shutil.which("bwrap") else \
        "bwrap is not permitted to make namespaces here"
    if have(["unshare", "-rn", "true"]):
        return ["unshare", "-rn", *limits], str(folder), f"{reason}; files are not shut off, the network is"
    return limits if shutil.which("prlimit") else [], str(folder), f"{reason}; neither files nor network are shut off"


def run_in_box(kit, source, stage, seconds, suites):
    """What tests/grade.sh printed, as a list of (title, text); and what isolation lacked."""
    with tempfile.TemporaryDirectory(prefix="grade-") as name:
        folder, mark = Path(name), secrets.token_hex(16)
        folder.chmod(0o755)
        shutil.copytree(kit, folder / "kit")
        shutil.copyfile(HERE / "grade.sh", folder / "grade.sh")
        shutil.copyfile(source, folder / "mm.c")
        words, inside, lacking = box(folder)
        work = "/box"
        if lacking:
            work = str(folder / "work")
            os.mkdir(work)
        script = f'cd {work} && cp {inside}/mm.c . && exec bash {inside}/grade.sh "$@"'
        command = [*words, "bash", "-c", script, "grade", f"{inside}/kit", str(stage), mark, str(seconds), *suites]
        with tempfile.TemporaryFile() as out:
            run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
            try:
                run.wait(seconds + GRACE)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(run.pid, signal.SIGKILL)  # all of it, whether it ended or not
            except ProcessLookupError:
                pass
            run.wait()
            out.seek(0)
            text = out.read(MOST_OUTPUT).decode(errors="replace")
    found = re.split(rf"^{mark} (.*)$", text, flags=re.M)
    return list(zip(found[1::2], found[2::2])), lacking


# ---- Points ----

def passed_tests(parts, may_skip):
    """{(suite, test): (status, what it said)}; a test with several parameters passes if all do."""
    found = {}
    for title, text in parts:
        suite = title.removeprefix("suite ")
        if suite == title:
            continue
        try:
            root = ElementTree.fromstring(text.strip())
        except ElementTree.ParseError:
            continue
        for case in root.iterfind(f"testsuite[@name='{suite}']/testcase"):
            key, status = (suite, case.get("name")), case.get("status")
            said = "\n".join("".join(e.itertext()).strip() or e.get("message", "") for e in case)
            if status == "SKIPPED":
                status, said = ("FREE", "") if key in may_skip else ("FAILED", "skipped; the table of the stage says that it need not do this")
            if key not in found or found[key][0] == "PASSED" and status != "PASSED":
                found[key] = (status, said)
    return found


class Result:
    def __init__(self, name, points, share, output):
        self.name, self.points, self.share, self.output = name, points, share, output

    @property
    def score(self):
        return round(self.points * self.share, 2)


def share_of_tests(suites, tests, results, distrust):
    """The share of tests passed, and a line for each that was not."""
    wanted, missed = 0, []
    for suite in suites:
        for name in tests.get(suite, []):
            status, said = results.get((suite, name), ("NOT RUN", "it did not end, or the time was up"))
            wanted += status != "FREE"
            if status not in ("PASSED", "FREE"):
                missed.append(f"{suite}/{name}: {status.lower()}\n" + "\n".join("    " + s for s in said.splitlines()[:12]))
    if distrust and any(suite.startswith("goal_") for suite in suites):
        return Fraction(0), distrust
    return (Fraction(wanted - len(missed), wanted) if wanted else None), "\n".join(missed)


def share_of_counts(mine, reference, which, allowed, what):
    """The mean over the workloads of how near this comes to the finished stage."""
    shares, lines = [], []
    for workload, amounts in reference.items():
        have_now, most = mine.get(workload, (0, 0))[which], amounts[which] * allowed
        share = min(Fraction(1), Fraction(most, have_now)) if have_now else Fraction(0)
        shares.append(share)
        if share < 1:
            lines.append(f"{workload}: {have_now} {what}; {int(most)} or fewer for all points" if have_now
                         else f"{workload}: did not end")
    return (sum(shares) / len(shares) if shares else None), "\n".join(lines)


def grade(kit, source, stage, seconds):
    """The results by group, and remarks that concern them all."""
    groups, may_skip = read_points(stage)
    tests = all_tests()
    if f"goal_{stage}" not in tests:
        stop(f"stage {stage} has no goals in tests/goals.c, so there is nothing to grade")
    suites = ["honest"] + [s for _, _, named in groups for s in named]
    problem, parts, lacking = None, [], None
    if source.is_symlink() or not source.is_file():
        problem = "mm.c is not a plain file"
    elif source.stat().st_size > MOST_SOURCE:
        problem = f"mm.c is larger than {MOST_SOURCE // MEGA} MiB"
    else:
        parts, lacking = run_in_box(kit, source, stage, seconds, suites)
    titled = dict(parts)
    if "unbuilt" in titled or not problem and not parts:
        problem = "it does not compile:\n" + titled.get("build", "").strip()
    elif "refused" in titled:
        problem = "it was not run:\n" + titled["refused"].strip()
    results = passed_tests(parts, may_skip)
    distrust = "\n".join(f"no points, since the counters or the table of the stage do not tell the truth:\n{said}"
                         for name in tests["honest"]
                         for status, said in [results.get(("honest", name), ("NOT RUN", "it did not end"))] if status != "PASSED")
    mine = counted(titled.get("counts", ""), "") if "end" in titled else {}
    reference = reference_counts(stage)
    graded = []
    for name, points, suites in groups:
        if name == "work":
            share, said = share_of_counts(mine, reference, 0, WORK_ALLOWED, "calls and blocks looked at")
        elif name == "space":
            share, said = share_of_counts(mine, reference, 1, SPACE_ALLOWED, "bytes of heap")
        else:
            share, said = share_of_tests(suites, tests, results, distrust)
        if name in ("work", "space") and distrust:
            share, said = Fraction(0), distrust
        if share is not None:
            graded.append(Result(name, points, Fraction(0) if problem else share, "" if problem else said))
    remarks = [problem] if problem else []
    if "end" not in titled and not problem:
        remarks.append(f"the time was up after {seconds} seconds; what had not ended by then counts as not passed")
    return graded, remarks, lacking


# ---- What graders read ----

def total(graded):
    """Points of 100, also where a group does not apply to the stage."""
    return round(sum(r.points * r.share for r in graded) * 100 / sum(r.points for r in graded), 2)


def number(x):
    return float(x) if x != int(x) else int(x)


def as_gradescope(graded, remarks, stage):
    tests = [{"name": r.name, "score": number(r.score), "max_score": r.points, "number": str(i),
              "status": "passed" if r.share == 1 else "failed", "output": r.output, "visibility": "visible"}
             for i, r in enumerate(graded, 1)]
    return json.dumps({"score": number(total(graded)), "output": "\n".join([f"stage {stage}", *remarks]), "tests": tests,
                       "leaderboard": [{"name": r.name, "value": number(r.score), "order": "desc"}
                                       for r in graded if r.name in ("work", "space")]}, indent=1) + "\n"


def as_autolab(graded, remarks, stage):
    scores = {r.name: number(r.score) for r in graded}
    return as_text(graded, remarks, stage) + json.dumps({"scores": scores, "scoreboard": [number(total(graded))]}) + "\n"


def as_junit(graded, remarks, stage):
    failures = sum(r.share != 1 for r in graded)
    top = ElementTree.Element("testsuite", name=f"stage {stage}", tests=str(len(graded)), failures=str(failures))
    for r in graded:
        case = ElementTree.SubElement(top, "testcase", classname=f"stage {stage}", name=r.name)
        if r.share != 1:
            failure = ElementTree.SubElement(case, "failure", message=f"{number(r.score)} of {r.points} points")
            failure.text = printable("\n".join([*remarks, r.output]))
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def printable(text):
    """XML has no way to write most control characters."""
    return re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", text)


def as_text(graded, remarks, stage):
    lines = [f"stage {stage}: {number(total(graded))} of 100 points", *remarks]
    for r in graded:
        lines.append(f"  {r.name:<10} {number(r.score):>6} of {r.points}")
        lines += ["      " + line for line in r.output.splitlines()]
    return "\n".join(lines) + "\n"


FORMATS = {"gradescope": as_gradescope, "autolab": as_autolab, "junit": as_junit, "text": as_text}


def command_one(arguments):
    graded, remarks, lacking = grade(arguments.kit, arguments.source, arguments.stage, arguments.seconds)
    if lacking and not arguments.quiet:
        print(f"grade: not shut in: {lacking}", file=sys.stderr)
    text = FORMATS[arguments.format](graded, remarks, arguments.stage)
    if arguments.out == "-":
        sys.stdout.write(text)
        return
    try:
        Path(arguments.out).write_text(text)
    except OSError as error:
        stop(f"out={arguments.out}: {error.strerror}")
    if not arguments.quiet:
        print(f"stage {arguments.stage}: {number(total(graded))} of 100 points; {arguments.out}")


def command_box(arguments):
    """Say whether submissions can be shut in here, or run a command as they are run."""
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        os.chmod(folder, 0o755)
        words, _, lacking = box(folder)
        if arguments.command:
            sys.exit(subprocess.run([*words, *arguments.command]).returncode)
    print(f"grade: not shut in: {lacking}" if lacking else "each submission in a box: no network, no files but its own")


def command_table(arguments):
    rows, names = [], []
    for path in arguments.results:
        try:
            result = json.loads(path.read_text())
        except (OSError, ValueError):
            stop(f"{path} is missing or damaged: was its grader stopped? Type the same again")
        names = [t["name"] for t in result["tests"]]
        remark = " ".join(line.strip() for line in result["output"].splitlines()[1:3])
        rows.append([path.stem, result["score"], *[t["score"] for t in result["tests"]], remark])
    head = ["name", "score", *names, "remark"]
    quoted = lambda x: '"' + x.replace('"', '""') + '"' if isinstance(x, str) and re.search(r'[",\n]|^[=+@-]', x) else str(x)
    arguments.csv.write_text("".join(",".join(map(quoted, row)) + "\n" for row in [head, *rows]))
    width = max(len(str(row[0])) for row in [head, *rows])
    for row in [head, *rows]:
        print(f"{row[0]:<{width}}", *(f"{x:>{max(6, len(h))}}" for x, h in zip(row[1:-1], head[1:-1])), f" {row[-1][:60]}".rstrip())
    scores = sorted(row[1] for row in rows)
    print(f"{len(rows)} submissions; median {scores[len(scores) // 2]}; {arguments.csv}")


def main():
    parser = argparse.ArgumentParser(prog="tests/grade.py")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("one")
    one.add_argument("--kit", type=Path, required=True)
    one.add_argument("--stage", type=int, required=True)
    one.add_argument("--format", choices=FORMATS, default="gradescope")
    one.add_argument("--out", default="-")
    one.add_argument("--seconds", type=int, default=120)
    one.add_argument("--quiet", action="store_true")
    one.add_argument("source", type=Path)
    one.set_defaults(run=command_one)
    look = commands.add_parser("box")
    look.add_argument("command", nargs=argparse.REMAINDER)
    look.set_defaults(run=command_box)
    table = commands.add_parser("table")
    table.add_argument("--csv", type=Path, required=True)
    table.add_argument("results", type=Path, nargs="+")
    table.set_defaults(run=command_table)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
