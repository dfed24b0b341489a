"""`python -m corml` is the program `corml`, also where its folder is not on the path."""

from corml.cli import main

if __name__ == "__main__":
    main()
