#!/usr/bin/env python3
"""Run a job of which some ranks do not live to its end: survivors.py N MPIRUN ARGS

However mpirun takes the death of a rank, the job is well if N ranks have left a file
`survived.RANK` in DDS_TEST_DIR, which goes, with all else that ranks leave there for each other.
"""

import os
import pathlib
import subprocess
import sys

wanted = int(sys.argv[1])
done = subprocess.run(sys.argv[2:], check=False)
survived = 0
for file in pathlib.Path(os.environ["DDS_TEST_DIR"]).glob("*.[0-9]*"):
    survived += file.name.startswith("survived.")
    file.unlink()
if survived != wanted:
    print(f"{survived} ranks survived, not {wanted}; mpirun ended with {done.returncode}")
sys.exit(survived != wanted)
