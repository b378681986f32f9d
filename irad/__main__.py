"""`python -m irad` is the `irad` command."""

import sys

from irad.cli import main

sys.exit(main())
