#!/usr/bin/env python3
"""ruff or mypy finds nothing in the Python of the tree; pyproject.toml says what they look for.

Usage: python_lint.py SOURCE_ROOT ruff|mypy
"""
import os
import shutil
import sys

COMMANDS = {"ruff": ["ruff", "check", "--no-cache", "."], "mypy": ["mypy"]}

root, tool = sys.argv[1:]
if not shutil.which(tool):
    print(f"skipped: no {tool}")
    sys.exit(77)
os.chdir(root)
os.execvp(tool, COMMANDS[tool])
