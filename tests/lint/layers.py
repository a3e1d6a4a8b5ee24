"""Check the includes of the files named on stdin against the layers.

A layer sees itself and lower ones. lmdb, libcrypto and libfuse each have one
door. A source that no target's glob takes is an error too: it would be dead.
"""
import re
import sys

RANK = {"include": 0, "journal": 1, "core": 2, "ll": 3, "tools": 4}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
LIBRARY = {
    "lmdb": re.compile(r"^lmdb\.h$"),
    "openssl": re.compile(r"^openssl/"),
    "libfuse": re.compile(r"^(fuse3?/)?(fuse|cuse)(_\w+)?\.h$|^linux/fuse\.h$"),
    "cmocka": re.compile(r"^cmocka\.h$"),
}
BUILT = re.compile(
    r"^(journal/[^/]+|fs/[^/]+"
    r"|tools/(lib_|rspoold|daemon_|rspoolctl|cmd_|mount_rspool)[^/]*)\.c$")


def layer(path):
    """The layer that a path from the root belongs to, or None."""
    top = path.split("/")[0]
    if top == "fs":
        return "ll" if path.split("/")[-1].startswith("ll") else "core"
    return top if top in RANK else None


def includes(path):
    with open(path, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def check(path, doors, complain):
    mine = layer(path)
    for number, kind, name in includes(path):
        def error(text):
            complain(f"{path}:{number}: {text}")
        if kind == '"':
            other = layer(name)
            if other is None:
                error(f"'{name}': write the path from the root of the tree")
            elif RANK[other] > RANK[mine]:
                error(f"{mine} must not include {other}: '{name}'")
            continue
        if layer(name) and "/" in name:
            error(f"<{name}> is ours: write it in quotes")
        for library, pattern in LIBRARY.items():
            if pattern.match(name):
                doors[library].add(path)
                if library == "libfuse" and mine != "ll":
                    error(f"only fs/ll* may include <{name}>")
                if library in ("lmdb", "openssl") and mine != "journal":
                    error(f"only the journal may include <{name}>")
                if library == "cmocka":
                    error("only tests include <cmocka.h>")


def main():
    faults = []
    doors = {library: set() for library in LIBRARY}
    paths = sys.stdin.read().split("\n")
    paths = [path for path in paths if path]
    for path in paths:
        check(path, doors, faults.append)
        if path.endswith(".c") and not BUILT.match(path):
            faults.append(f"{path}: no target builds it, see the folder's "
                          "CMakeLists.txt")
    for library in ("lmdb", "openssl"):
        if len(doors[library]) > 1:
            faults.append(f"more than one file sees {library}: "
                          + ", ".join(sorted(doors[library])))
    print("\n".join(faults) if faults else f"{len(paths)} files")
    return 1 if faults else 0


sys.exit(main())
