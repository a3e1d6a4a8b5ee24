"""Report of gcov's counts: coverage.py SRC BUILD OUT.

Prints a table of files of journal/ and of the core of fs/ (what stands in
fs/ll* needs a mount and isn't looked at), and writes to OUT the same and each
line that never ran, under its function. A branch counts for what the code
itself decides: not in an assert.

Fewer than LEAST per cent of all lines are an error: whoever adds much code
that no test runs is told so. Files below are named.
"""
import json
import os
import re
import subprocess
import sys

LEAST = 85


def gcov(data):
    """The files that one object's counts speak of."""
    out = subprocess.run(
        ["gcov", "--json-format", "--branch-probabilities", "--stdout", data],
        cwd=os.path.dirname(data), check=True, capture_output=True).stdout
    return json.loads(out)["files"]


def looked_at(name):
    """Is it of journal/ or of the core of fs/?"""
    return re.match(r"(journal/|fs/(?!ll))[^/]*\.c$", name) is not None


def collect(src, build):
    """{file: {line: [count, function, [branch counts]]}}"""
    found = {}
    for top, _, names in os.walk(build):
        for name in names:
            if not name.endswith(".gcda") or "/tests/" in top:
                continue
            for entry in gcov(os.path.join(top, name)):
                path = os.path.relpath(
                    os.path.join(build, entry["file"]), src)
                if looked_at(path):
                    add(found.setdefault(path, {}), entry["lines"])
    return found


def add(lines, more):
    """Counts of another object: inline functions are in several."""
    for line in more:
        at = lines.setdefault(line["line_number"],
                              [0, line.get("function_name", ""), []])
        at[0] += line["count"]
        counts = [b["count"] for b in line["branches"]]
        if len(counts) == len(at[2]):
            counts = [a + b for a, b in zip(counts, at[2])]
        at[2] = counts


def share(part, whole):
    """Per cent."""
    return 100.0 * part / whole if whole else 100.0


def measure(text, lines):
    """lines run, lines, branches taken, branches, [(line, function)] never"""
    never, taken, branches = [], 0, 0
    for number, (count, function, counts) in sorted(lines.items()):
        if count == 0:
            never.append((number, function))
        if "assert(" in text[number - 1]:
            continue
        branches += len(counts)
        taken += sum(1 for c in counts if c)
    return len(lines) - len(never), len(lines), taken, branches, never


def name_lines(out, path, text, never):
    """Each line that no test reached."""
    last = None
    for number, function in never:
        if function != last:
            print(f"\n{path}: {function}", file=out)
            last = function
        print(f"{number:6} {text[number - 1].rstrip()}", file=out)


def main():
    """See above."""
    src, build, out_name = sys.argv[1:]
    src, build = os.path.realpath(src), os.path.realpath(build)
    found = collect(src, build)
    if not found:
        sys.exit("coverage: no counts: were the tests run?")
    sums, rows, low, rest = [0] * 4, [], [], []
    for path in sorted(found):
        with open(os.path.join(src, path), encoding="utf-8") as file:
            text = file.readlines()
        *counts, never = measure(text, found[path])
        sums = [a + b for a, b in zip(sums, counts)]
        rows.append((path, counts))
        rest.append((path, text, never))
        if share(*counts[:2]) < LEAST:
            low.append(path)
    rows.append(("all", sums))
    with open(out_name, "w", encoding="utf-8") as out:
        for path, (run, lines, taken, branches) in rows:
            row = (f"{path:28} {share(run, lines):5.1f} % of {lines:5} lines"
                   f" {share(taken, branches):5.1f} % of {branches:5} branches")
            print(row)
            print(row, file=out)
        for path, text, never in rest:
            name_lines(out, path, text, never)
    print(f"coverage: each line that never ran: {out_name}")
    print(f"coverage: less than {LEAST} % of the lines of {', '.join(low)}")
    if share(*sums[:2]) < LEAST:
        sys.exit(f"coverage: less than {LEAST} % of all lines")


main()
