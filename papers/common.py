"""What the papers' scripts share: the programs, recording and simulating them, drawing."""

import argparse
import hashlib
import json
import math
import os
import random
import re
import sqlite3
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

PAPERS = Path(__file__).resolve().parent
PROGRAMS = PAPERS / "programs"
TERRACE = PAPERS.parent / "target" / "release" / "terrace"

# Debian's, which has the libraries of Debian's packages.
PYTHON = "/usr/bin/python3"

OURS, PAPER = "#2a6f97", "#d1495b"


class Bench:
    """A work directory with the programs of a folder compiled, and `terrace`."""

    def __init__(self, work, folder=PROGRAMS, inputs=None):
        """`inputs` maps names to functions that make an input in the work directory."""
        if not TERRACE.exists():
            sys.exit(f"{TERRACE} is not there; run `make build` first")
        self.work = Path(work).absolute()
        self.bin = self.work / "bin"
        self.bin.mkdir(parents=True, exist_ok=True)
        # Programs run here: some write files into the folder that they are run in.
        self.written = self.work / "written"
        self.written.mkdir(exist_ok=True)
        self.folder = folder
        self.inputs = INPUTS | (inputs or {})
        self.places = {"bin": self.bin, "programs": folder, "work": self.work}
        self.programs = self.read()
        for source in {*PROGRAMS.glob("*.c"), *folder.glob("*.c")}:
            self.compile(source)
        for source, define in sorted({(one["source"], one["define"]) for one in self.programs.values() if "define" in one}):
            self.compile(folder / f"{source}.c", define)

    def read(self):
        return tomllib.loads((self.folder / "programs.toml").read_text())

    def compile(self, source, define=None):
        """Compiles a source; with a macro defined, to a program of its own with the macro's name."""
        libraries = self.programs.get(source.stem, {}).get("libraries", ["-lm"])
        flags = ["-O2", "-Wall", "-Wextra", "-pthread", f"-I{PROGRAMS}", *([f"-D{define}"] if define else [])]
        program = f"{source.stem}-{define.lower()}" if define else source.stem
        subprocess.run(["cc", *flags, "-o", self.bin / program, source, *libraries], check=True)

    def command(self, name):
        """Returns the command that starts a program, with its placeholders filled in."""
        return [part.format(**self.places) for part in self.programs[name]["command"]]

    def record(self, name, limit, *options):
        """Records a program until it ends or has made `limit` rows; returns the trace's path.

        A trace of an earlier call with the same program, command and options is reused.
        """
        program, command = self.programs[name], self.command(name)
        if "input" in program:
            self.inputs[program["input"]](self.work)
        ours = [Path(part) for part in command if Path(part).parent in (self.bin, self.folder)]
        content = [path.read_bytes() for path in ours]
        key = repr((command, limit, options, content)).encode()
        trace = self.work / f"{name}-{hashlib.sha256(key).hexdigest()[:12]}.parquet"
        if trace.exists():
            return trace
        say(f"recording {name}")
        partial = trace.with_suffix(".partial.parquet")
        recorder = [TERRACE, "record", "--quiet", "--limit", str(limit), *options, "-o", partial]
        log = trace.with_suffix(".log")
        code = run([*recorder, "--", *command], program.get("stdin"), log, self.written)
        if code != 0:
            sys.exit(f"recording {name} failed with exit code {code}; what it said is in {log}")
        partial.rename(trace)
        return trace

    def versions(self, names):
        """Describes the programs, one line each, and what recorded them."""
        lines = {name: self.programs[name]["what"] for name in names}
        tools = {"terrace": [TERRACE], "qemu": ["qemu-x86_64"], "cc": ["cc"], "python3": [PYTHON]}
        parts = {part for name in names for part in self.programs[name]["command"]}
        tools.update({tool: [tool] for tool in ("sort", "sqlite3") if tool in parts})
        versions = {tool: first_line([*command, "--version"]) for tool, command in tools.items()}
        for library in ("numpy", "scipy"):
            if PYTHON in parts:
                versions[library] = first_line([PYTHON, "-c", f"import {library} as l; print(l.__version__)"])
        return {"programs": lines, "versions": versions}


class Installed(Bench):
    """A bench of programs in Debian's packages. Each program has `packages`, and a `check` that
    succeeds if it is installed; programs that are not installed are left out."""

    def read(self):
        programs = self.wanted(super().read())
        self.missing = [name for name, program in programs.items() if not succeeds(program["check"])]
        for name in self.missing:
            say(f"MISSING: {name} is left out; apt-get install {' '.join(programs[name]['packages'])}")
            del programs[name]
        return programs

    def wanted(self, programs):
        """Returns the names of the programs that should be installed."""
        return programs

    def versions(self, names):
        found = super().versions(names)
        packages = sorted({package for name in names for package in self.programs[name]["packages"]})
        query = ["dpkg-query", "-W", "-f", "${Version}"]
        return found | {"packages": {package: first_line([*query, package]) for package in packages}}


def main_part(whole, setup):
    """Returns the trace without its first `setup` rows, which is kept beside the trace."""
    if setup == 0:
        return whole
    trace = whole.with_suffix(".main.parquet")
    if not trace.exists():
        convert = [TERRACE, "trace", "convert", "--quiet", "--skip", str(setup), whole, trace]
        subprocess.run(convert, check=True)
    return trace


def behind_last_level(trace, size):
    """Returns what a last level (16 ways, LRU) lets through of a trace that has passed private levels: its misses and
    write-backs, in a trace that is kept beside the other."""
    behind = trace.with_suffix(f".{size}.parquet")
    if not behind.exists():
        partial = behind.with_suffix(".partial.parquet")
        levels = ["--l1", "off", "--l2", "off", "--llc", size, "--memory", "none"]
        output_json([TERRACE, "sim", "llc", "--quiet", "--json=-", *levels, "--traffic", partial, trace])
        partial.rename(behind)
    return behind


def without_writebacks(trace):
    """Returns the rows of a trace that has passed caches for which its program waited: their misses. What caches write
    back comes when lines leave them, and faults no page."""
    misses = trace.with_suffix(".misses.parquet")
    if not misses.exists():
        rows, kept, partial = (trace.with_suffix(end) for end in (".csv", ".misses.csv", ".partial.parquet"))
        convert = [TERRACE, "trace", "convert", "--quiet"]
        subprocess.run([*convert, trace, rows], check=True)
        with rows.open("rb") as given, kept.open("wb") as taken:
            head = next(given)
            if not head.endswith(b",write\n"):
                sys.exit(f"{rows} has other columns than are expected: {head.decode().strip()}")
            taken.write(head)
            taken.writelines(row for row in given if row.endswith(b",0\n"))
        subprocess.run([*convert, kept, partial], check=True)
        for file in (rows, kept):
            file.unlink()
        partial.rename(misses)
    return misses


def succeeds(command):
    try:
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def run(command, stdin, log, folder=None):
    """Runs a command in a folder, by default the caller's; what it says goes to a file. Returns its exit code.

    If lines are sent to the command, its input stays open: some programs stop computing when
    there is more to read, and also at the end of their input.
    """
    with log.open("w") as said:
        if stdin is None:
            return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=said, cwd=folder).returncode
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, cwd=folder,
                              text=True) as process:
            process.stdin.write("".join(f"{line}\n" for line in stdin))
            process.stdin.flush()
            return process.wait()


def trace_info(trace):
    """Returns the results of `terrace trace info` for a trace, which are kept beside it."""
    kept = Path(trace).with_suffix(".json")
    if not kept.exists():
        write_json(kept, output_json([TERRACE, "trace", "info", "--quiet", "--json=-", trace]))
    return json.loads(kept.read_text())


def simulate(traces, warmup, **options):
    """Runs `terrace sim pages` on a trace, or on several together, with all combinations of these
    options; returns the list of runs.

    Values that are lists are swept; underscores in names stand for dashes.
    """
    traces = traces if isinstance(traces, list) else [traces]
    arguments = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value]
        arguments += ["--" + name.replace("_", "-"), ",".join(map(str, values))]
    command = [TERRACE, "sim", "pages", "--quiet", "--json", "--warmup", warmup, *arguments, *traces]
    return output_json(command)["runs"]


def output_json(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with exit code {done.returncode}")
    return json.loads(done.stdout)


def first_line(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return done.stdout.partition("\n")[0]


def make_once(work, name, write):
    """Makes a file in `work` unless it is there; it gets its name when it is complete."""
    path = work / name
    if path.exists():
        return
    unfinished = path.with_suffix(".partial")
    unfinished.unlink(missing_ok=True)
    write(unfinished)
    unfinished.rename(path)


def write_lines(path):
    """Writes 400,000 lines of 112 bytes that begin with random numbers."""
    numbers = random.Random(1)
    with path.open("w") as file:
        for _ in range(400_000):
            file.write(f"{numbers.getrandbits(60):020d} {'x' * 90}\n")


def write_rows(path):
    """Writes a table of 500,000 rows, each a key and 100 random bytes."""
    numbers = random.Random(1)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
    rows = ((key, numbers.randbytes(100)) for key in range(500_000))
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.commit()
    connection.close()


INPUTS = {
    "lines": partial(make_once, name="lines.txt", write=write_lines),
    "rows": partial(make_once, name="rows.db", write=write_rows),
}


def geometric_mean(values):
    """Returns the geometric mean of values above 0."""
    return math.exp(sum(map(math.log, values)) / len(values))


def mean(values):
    return sum(values) / len(values)


def known_mean(values):
    """Returns the mean of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def say(text):
    print(text, file=sys.stderr, flush=True)


def gained(slowdown):
    """Returns the improvement of run time in percent of the baseline's; nothing where there is no ratio."""
    return "" if slowdown is None else percent(1 - slowdown)


def percent(share, sign=False):
    """Writes a share as a percentage, and one that is not there as nothing."""
    # Adding nothing turns -0.0 into 0.0.
    return "" if share is None else f"{round(100 * share, 1) + 0:{'+' if sign else ''}.1f} %"


def table(heads, rows):
    """Returns a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def fill_in(readme, parts):
    """Puts each text between the lines `<!-- NAME -->` and `<!-- /NAME -->` of a README."""
    text = readme.read_text()
    for name, part in parts.items():
        marked = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not marked.search(text):
            sys.exit(f"{readme} has no place for `{name}`")
        text = marked.sub(lambda found: f"{found[1]}\n{part}\n\n{found[2]}", text)
    readme.write_text(text)


def figures(folder):
    """Returns where the figures of a folder's page are, in the book."""
    return PAPERS.parent / "book" / "src" / "results" / folder.name


def render():
    """Renders the pages of all papers anew."""
    subprocess.run([PYTHON, PAPERS / "pages.py"], check=True)


def pyplot():
    """Returns Matplotlib, set up so that its files do not change from one run to the next."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "terrace",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "grid.alpha": 0.3,
        "axes.axisbelow": True,
        "figure.constrained_layout.use": True,
    })
    from matplotlib import pyplot

    return pyplot


def grouped_bars(axes, groups, series, colours):
    """Draws bars side by side: `series` maps a name to one value per group (None leaves a gap)."""
    width = 0.8 / len(series)
    for position, ((name, values), colour) in enumerate(zip(series.items(), colours)):
        places = [group + (position - (len(series) - 1) / 2) * width for group in range(len(groups))]
        known = [(place, value) for place, value in zip(places, values) if value is not None]
        axes.bar(*zip(*known), width * 0.92, label=name, color=colour)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(False, axis="x")


def save(figure, path):
    figure.savefig(path, metadata={"Date": None})


def repeat(folder, about, measure, draw, tables, bench=Bench):
    """Measures, draws and prints; `measure` gets whether shorter recordings are enough."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true",
                        help="shorter recordings, some minutes; results stay in the work directory")
    quick = parser.parse_args().quick
    bench = bench(work_directory(folder))
    paper = json.loads((folder / "paper.json").read_text())
    results = measure(bench, paper, quick)
    write_json((bench.work if quick else folder) / "results.json", results)
    draw(results, paper, bench.work if quick else figures(folder))
    print("\n\n".join(tables(results, paper).values()))
    if not quick:
        render()


def work_directory(folder):
    """Returns the directory of recordings: beside the script, or under $TERRACE_PAPERS_WORK."""
    base = os.environ.get("TERRACE_PAPERS_WORK")
    return Path(base) / folder.name if base else folder / "work"
