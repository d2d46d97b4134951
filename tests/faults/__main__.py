"""`python -m faults --schedules 2000 --seed 1`."""

import sys

from faults.campaign import main

if __name__ == "__main__":
    sys.exit(main())
