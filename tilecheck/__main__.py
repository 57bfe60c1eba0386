"""`python -m tilecheck`."""

import sys

from tilecheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
