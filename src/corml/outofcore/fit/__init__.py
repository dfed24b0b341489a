"""A fit as tasks on files: interactions of any size, on this machine or on many, with the kernels of the fit in memory.

matrix.py     the users × items matrix in rows of both, as mapped files
files.py      that matrix with its executor, and how work on it is divided into tasks
kernels.py    kernels of tasks
spectral.py   V
pair_work.py  the costly steps of column generation, as tasks
fit.py        all of it in order
plan.py, stages.py, estimate.py   what a fit will take, before it starts
"""
