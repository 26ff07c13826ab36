"""Reads the mdoc(7) sources of man/ and the C header, for the checks of the documentation.

Only what our own pages use is understood; anything else is an error, not a guess.
"""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def squeeze(text):
    """C text without comments and with no more spaces than it needs, to compare declarations."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r" ?([*(){},;\[\]]) ?", r"\1", text)


class Page:
    """One manual page: its sections in order, each a list of source lines."""

    def __init__(self, path):
        self.path = path
        self.name, self.section = path.name.rsplit(".", 1)
        self.sections = {}
        lines = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(".Sh "):
                lines = self.sections.setdefault(line[4:], [])
            else:
                lines.append(line)

    def names(self):
        return [line.split()[1] for line in self.sections["NAME"] if line.startswith(".Nm ")]

    def prototypes(self):
        """{function: squeezed prototype} of SYNOPSIS."""
        found, kind = {}, None
        for line in self.sections["SYNOPSIS"]:
            words = shlex.split(line) if line.startswith((".Ft", ".Fn")) else [""]
            if words[0] == ".Ft":
                kind = " ".join(words[1:])
            elif words[0] == ".Fn":
                text = f"{kind} {words[1]}({', '.join(words[2:])})"
                if words[1] in found:
                    raise ValueError(f"{self.path.name}: {words[1]} stands twice")
                found[words[1]] = squeeze(text)
        return found

    def structs(self):
        """{name: squeezed definition} of the structs that SYNOPSIS shows."""
        return structs("\n".join(self.sections["SYNOPSIS"]))

    def references(self):
        """(name, section) of each cross-reference."""
        for lines in self.sections.values():
            for line in lines:
                if match := re.match(r"\.(?:\w\w )?Xr (\S+) (\S+)", line):
                    yield match.groups()

    def classes(self):
        """The error classes that ERRORS lists."""
        return [
            m[1]
            for line in self.sections.get("ERRORS", [])
            if (m := re.match(r"\.It Bq Er (\w+)$", line))
        ]

    def program(self):
        """(line number, C source) of the program in EXAMPLES, or None where there is none."""
        found, block, inside = [], None, False
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith(".Sh "):
                inside = line == ".Sh EXAMPLES"
            elif inside and line == ".Bd -literal":
                block = (number + 1, [])
            elif line == ".Ed" and block:
                found.append((block[0], "\n".join(map(plain, block[1])) + "\n"))
                block = None
            elif block:
                block[1].append(line)
        if len(found) > 1:
            raise ValueError(f"{self.path.name}: more than one program in EXAMPLES")
        return found[0] if found else None


def plain(line):
    """A line of a literal display as the reader sees it."""
    if line.startswith((".", "'")):
        raise ValueError(f"a macro within a program: {line}")
    line = line.replace(r"\(aq", "'").replace(r"\&", "")
    if re.search(r"\\[^e]", line):
        raise ValueError(f"an escape that is not known: {line}")
    return line.replace(r"\e", "\\")


def structs(text):
    found = re.findall(r"(typedef struct (\w+)_s \{.*?\} \w+_t;)", text, flags=re.S)
    return {name: squeeze(definition) for definition, name in found}


def pages():
    return [Page(p) for p in sorted((ROOT / "man").glob("*.[137]"))]


def links():
    """{alias: page} as man/meson.build installs them."""
    text = (ROOT / "man/meson.build").read_text(encoding="utf-8")
    found = {}
    for page, names in re.findall(r"'(\w+)': \[(.*?)\]", text, flags=re.S):
        found |= dict.fromkeys(re.findall(r"'(\w+)'", names), page)
    return found


def header():
    return (ROOT / "include/ddstore.h").read_text(encoding="utf-8")


def inlines():
    """The functions that the other headers define for the caller's own compiler."""
    found = set()
    for path in (ROOT / "include").glob("ddstore_*.h"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"^static inline [^;{(]*?\b(dds_\w+)\(", text, flags=re.M))
    return found


def declared():
    """{function: squeezed prototype} of the header."""
    text = re.sub(r"/\*.*?\*/", " ", header(), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    found = {}
    for prototype in re.findall(r"DDS_API\s+(.*?);", text, flags=re.S):
        prototype = squeeze(prototype)
        found[re.search(r"(\w+)\(", prototype)[1]] = prototype
    return found


def exported():
    """The symbols of the version script."""
    text = (ROOT / "src/libddstore.map").read_text(encoding="utf-8")
    return re.findall(r"^\s+(dds_\w+);", text, flags=re.M)


def environment():
    """{variable: what it takes} of the table in src/base/env.cpp, without those for tests."""
    text = (ROOT / "src/base/env.cpp").read_text(encoding="utf-8")
    text = re.sub(r"^#if DDS_TESTING$.*?^#endif$", "", text, flags=re.S | re.M)
    rows = re.findall(r'\{\s*"((?:DDSTORE|FABRIC)_\w+)",[^"]*((?:"[^"]*"\s*)+),', text)
    return {name: "".join(re.findall(r'"([^"]*)"', takes)) for name, takes in rows}


def tool_options(tool):
    """The long options that ddstore-TOOL --help explains."""
    text = (ROOT / f"tools/{tool}/options.cpp").read_text(encoding="utf-8")
    return set(re.findall(r"^  --([a-z-]+)", text, flags=re.M))
