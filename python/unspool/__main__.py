"""`python -m unspool`, and the script `unspool`."""

import sys


def main() -> None:
    """Run the command line, if the packages that it needs are installed."""
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError as error:
        sys.exit(f"unspool: {error}; pip install 'unspool[cli]'")
    from unspool import cli

    cli.main()


if __name__ == "__main__":
    main()
