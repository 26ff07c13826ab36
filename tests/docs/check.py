"""Holds the manual pages against the header, the version script and the sources.

check.py NAME    one check; without a name: all of them
"""

import re
import sys

import pages as man

SECTIONS_3 = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUES", "EXAMPLES", "ERRORS", "SEE ALSO"]
SECTIONS_7 = [
    "NAME",
    "DESCRIPTION",
    "ENVIRONMENT",
    "EXAMPLES",
    "ERROR CLASSES",
    "SEE ALSO",
    "ABI HISTORY",
    "SECURITY",
]


def missing(what, ours, theirs):
    """Lines on the names that only one side has."""
    ours, theirs = set(ours), set(theirs)
    yield from (f"{what}: {name} is missing from the page" for name in sorted(theirs - ours))
    yield from (f"{what}: {name} stands in the page only" for name in sorted(ours - theirs))


def differences(what, ours, theirs):
    """Lines on how two mappings differ."""
    yield from missing(what, ours, theirs)
    for name in sorted(ours.keys() & theirs.keys()):
        if ours[name] != theirs[name]:
            yield f"{what}: {name}: the page says\n  {ours[name]}\nand the source\n  {theirs[name]}"


def check_prototypes():
    """Every exported symbol stands in exactly one SYNOPSIS, as the header declares it."""
    ours = {}
    for page in man.pages():
        for name, prototype in (page.prototypes() if page.section == "3" else {}).items():
            if name in ours:
                yield f"{name} stands in two SYNOPSIS"
            ours[name] = prototype
    theirs = man.declared()
    yield from differences("prototype", ours, theirs)
    yield from missing("version script", ours, man.exported())


def check_inlines():
    """Every inline function of a header stands in a page, as one would declare it."""
    shown = set()
    for page in man.pages():
        for line in page.sections["DESCRIPTION"] if page.section == "3" else []:
            if match := re.match(r"(?:[\w*]+ )+\*?(dds_\w+)\(", line):
                shown.add(match[1])
    inlines = man.inlines()
    if not inlines:
        yield "the headers have no inline function"
    yield from missing("inline", shown & inlines, inlines)


def check_structs():
    """Every struct that a page shows is the header's; every struct with fields is shown."""
    ours = {}
    for page in man.pages():
        ours |= page.structs() if page.section == "3" else {}
    yield from differences("struct", ours, man.structs(man.header()))


def check_names():
    """NAME, SYNOPSIS, the table of scopes and the installed links speak of the same functions."""
    links = man.links()
    for page in man.pages():
        if page.section != "3":
            continue
        names = page.names()
        where = page.path.name
        if names[0] != page.name:
            yield f"{where}: NAME begins with {names[0]}"
        yield from missing(f"{where}, NAME", names, page.prototypes())
        yield from missing(
            f"{where}, links", names, [page.name] + [n for n, p in links.items() if p == page.name]
        )
        scope = [
            m[1]
            for line in page.sections["DESCRIPTION"]
            if (m := re.match(r"\.It Fn (dds_\w+) Ta (?:local|collective) Ta ", line))
        ]
        yield from missing(f"{where}, Scope", scope, page.prototypes())


def check_sections():
    """Each page has its sections, in order, and none is empty."""
    expected = {"1": None, "3": SECTIONS_3, "7": SECTIONS_7}
    for page in man.pages():
        want = expected[page.section]
        if want and list(page.sections) != want:
            yield f"{page.path.name}: the sections are {', '.join(page.sections)}"
        for name, lines in page.sections.items():
            if not lines:
                yield f"{page.path.name}: {name} is empty"


def check_references():
    """Each cross-reference leads to a page or a link of ours."""
    known = {(p.name, p.section) for p in man.pages()} | {(n, "3") for n in man.links()}
    for page in man.pages():
        for name, section in page.references():
            if (name, section) not in known:
                yield f"{page.path.name}: no page {name}({section})"
            elif name == page.name:
                yield f"{page.path.name}: refers to itself"


def check_macros():
    """Error classes, types and every other macro of the header are documented, and no others."""
    defined = dict(re.findall(r"^#define (DDS_\w+)(?:\(n\))?[ \t]+(\S+)", man.header(), flags=re.M))
    defined.pop("DDS_API", None)
    text = {p.path.name: p.path.read_text(encoding="utf-8") for p in man.pages()}

    listed = dict(re.findall(r"^\.It Er (DDS_ERR_\w+) Pq (\d+)$", text["ddstore.7"], flags=re.M))
    errors = {n: v for n, v in defined.items() if n.startswith("DDS_ERR_")}
    yield from differences("ddstore.7, ERROR CLASSES", listed, errors)
    for page in man.pages():
        for name in page.classes():
            if name not in errors:
                yield f"{page.path.name}: no class {name}"

    words = re.sub(r"^\.Dt .*", "", "\n".join(text.values()), flags=re.M)  # titles are in capitals
    used = set(re.findall(r"\bDDS_[A-Z0-9_]+\b", words))
    used -= {"DDS_ERR_", "DDS_METHOD_", "DDS_PATH_", "DDS_"}  # DDS_ERR_* and the like
    yield from missing("macro", used, defined)


def check_environment():
    """The table in ddstore(7) is the library's."""
    seven = next(p for p in man.pages() if p.section == "7")
    ours = {}
    for line in seven.sections["ENVIRONMENT"]:
        if match := re.match(r"\.It Ev (\w+) Pq (.*)$", line):
            ours[match[1]] = match[2]
    theirs = man.environment()
    if not theirs:
        yield "src/base/env.cpp has no table"
    yield from differences("environment", ours, theirs)
    for page in man.pages():
        for line in (text for lines in page.sections.values() for text in lines):
            if (match := re.match(r"\.(?:It )?Ev (\w+)", line)) and match[1] not in theirs:
                yield f"{page.path.name}: the library does not read {match[1]}"


def check_options():
    """The page of a tool lists the options that its --help explains."""
    for page in man.pages():
        if page.section != "1":
            continue
        lines = page.sections["DESCRIPTION"]
        ours = {m[1] for line in lines if (m := re.match(r"\.It Fl -(\S+)", line))}
        tool = page.name.removeprefix("ddstore-")
        yield from missing(page.name, ours, man.tool_options(tool) | {"help"})


CHECKS = {name[6:]: check for name, check in globals().items() if name.startswith("check_")}


def main():
    failures = 0
    for name in sys.argv[1:] or CHECKS:
        for problem in CHECKS[name]():
            print(f"{name}: {problem}")
            failures += 1
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
