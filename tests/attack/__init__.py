"""Hostile inputs, made by a generator, against everything that reads something (run: make attack).

A surface is a file here: `prepare` makes what is valid, `case` damages it with a random number generator of its own,
hands it to corml and looks at the answer. `arena.py` runs the cases in processes that may die, with a clock and an eye
on their memory. A case is a surface and a number: the same ones give the same input, here and elsewhere.
"""
