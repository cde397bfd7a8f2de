"""Run the command line as ``python -m preflearn``."""

import sys

from preflearn.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
