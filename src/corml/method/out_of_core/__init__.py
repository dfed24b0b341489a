"""A fit as tasks on files: interactions of any size, on this machine or on many, with the kernels of the fit in memory.

matrix.py     the users × items matrix in rows of both, as mapped files
kernels.py    what tasks do
cuts.py       how the work is cut, from the data alone: so the bytes are the same whoever does it
pair_work.py  the costly steps of column generation, as tasks
spectral.py   V
fit.py        the way through them
"""
