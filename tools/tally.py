#!/usr/bin/env python3
"""Add up what the tests of all builds said; the end of tools/test.

Usage: tally.py FOLDER, which holds NAME.json (Meson's test logs), NAME.xml (pytest's JUnit files)
and `broken`, a line for each step that could not be done.
"""
import dataclasses
import json
import pathlib
import sys
import xml.etree.ElementTree

TAIL = 40  # lines of a failed test's output
SLOWEST = 8


@dataclasses.dataclass
class Outcome:
    """What became of one test of one build."""

    build: str
    name: str
    state: str  # "passed", "failed", "skipped"
    seconds: float = 0.0
    text: str = ""


def of_meson(path):
    """Read the outcomes of a log of Meson, one JSON object a line."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        test = json.loads(line)
        state = "failed" if test["is_fail"] else \
            "skipped" if test["result"] == "SKIP" else "passed"
        text = test.get("stdout", "") + test.get("stderr", "")
        yield Outcome(path.stem, test["name"], state, test["duration"],
                      f"{text}\n({test['result']}, status {test['returncode']})")


def of_pytest(path):
    """Read the outcomes of a JUnit file of pytest."""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        wrong = [part for part in case if part.tag in ("failure", "error")]
        skipped = [part for part in case if part.tag == "skipped"]
        parts = wrong or skipped
        yield Outcome(path.stem, f"{case.get('classname')}::{case.get('name')}",
                      "failed" if wrong else "skipped" if skipped else "passed",
                      float(case.get("time", 0)),
                      "\n".join(part.text or part.get("message", "") for part in parts))


def gathered(folder):
    """Gather the outcomes of all builds."""
    broken = folder / "broken"
    if broken.exists():
        for line in broken.read_text(encoding="utf-8").splitlines():
            yield Outcome("tools/test", line, "failed", 0.0, "it could not be done: see above")
    for path in sorted(folder.glob("*.json")):
        yield from of_meson(path)
    for path in sorted(folder.glob("*.xml")):
        yield from of_pytest(path)


def main(folder):
    """Print what was skipped, what failed, and the sums; return the exit status."""
    outcomes = list(gathered(pathlib.Path(folder)))
    by_state = {state: [one for one in outcomes if one.state == state]
                for state in ("passed", "failed", "skipped")}
    print("==> slowest")
    for one in sorted(outcomes, key=lambda one: -one.seconds)[:SLOWEST]:
        print(f"    {one.seconds:7.1f} s  {one.build}: {one.name}")
    for one in by_state["skipped"]:
        reason = one.text.strip().splitlines()[:1]
        print(f"==> skipped {one.build}: {one.name}: {''.join(reason)}")
    for one in by_state["failed"]:
        print(f"==> FAILED {one.build}: {one.name}")
        print("\n".join("    " + line for line in one.text.rstrip().splitlines()[-TAIL:]))
    print(f"{len(by_state['skipped'])} skipped")
    print(f"{len(by_state['passed'])} passed, {len(by_state['failed'])} failed")
    return 1 if by_state["failed"] or not by_state["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
