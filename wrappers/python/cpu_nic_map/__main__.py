"""``python3 -m cpu_nic_map``."""

import sys

from ._cli import main

sys.exit(main())
