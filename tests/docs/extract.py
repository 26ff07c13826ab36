"""Writes the program of a page's EXAMPLES to a C file: extract.py PAGE OUTPUT.

Messages of the compiler name the page and its line.
"""

import sys
from pathlib import Path

from pages import Page

page = Page(Path(sys.argv[1]))
number, source = page.program() or sys.exit(f"{page.path.name}: no program in EXAMPLES")
Path(sys.argv[2]).write_text(f'#line {number} "{page.path.name}"\n{source}', encoding="utf-8")
