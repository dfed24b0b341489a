"""Work in tasks on files: the same tasks, run one after the other here or on many machines, give the same bytes.

A task is a function of corml with parameters and files it reads; it writes one artefact, a folder of arrays, under a
name that is a hash of all that it depends on. So whoever runs it, and however often, the artefact is the same, and an
artefact that exists need not be made again.

The contract of an executor: `run(tasks)` returns when the artefact of every task exists and is complete, and gives the
facts each wrote, in the order of the tasks. It may run them anywhere, in any order, more than once. A task passes names
of files, never arrays; its facts are small. `require(needed)` refuses workers without the memory for a task.
"""

from corml.outofcore.tasks.artefacts import Artefact, Artefacts, Damaged, Draft
from corml.outofcore.tasks.cluster import executor_on
from corml.outofcore.tasks.executor import AT_ONCE, Executor, Serial, Task, key_of, working_in

__all__ = [
    "AT_ONCE",
    "Artefact",
    "Artefacts",
    "Damaged",
    "Draft",
    "Executor",
    "Serial",
    "Task",
    "executor_on",
    "key_of",
    "working_in",
]
