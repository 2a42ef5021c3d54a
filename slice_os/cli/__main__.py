"""`python -m slice_os.cli`, for launchers that take a module."""

from slice_os.cli import main

main()
