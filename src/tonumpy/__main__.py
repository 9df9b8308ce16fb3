"""`python -m tonumpy`."""

from __future__ import annotations

import sys

from tonumpy.frontends.cli import main

if __name__ == "__main__":
    sys.exit(main())
