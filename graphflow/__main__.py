"""python -m graphflow: the same as the graphflow command."""

from graphflow.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
