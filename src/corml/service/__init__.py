"""The HTTP service: `corml serve` puts model files behind an API.

    supervisor      one light process: owns the socket and the verified model files, starts and replaces workers
      worker        a process that answers: event loop, models, reloads
        protocol    deadlines of a connection; which requests are admitted, and which are refused at once
        gate        what every request passes; access, logs, metrics, problems
        app         routes and pages, from one table
          operations  the table: path, request, answer, who may call; openapi is made from it
          endpoint    one operation: body, token, parsing, turns, work
          schema      the types of requests and answers
          handlers    what is done: served (a loaded model), lists, why_not, lookup

Nothing here imports NumPy before the number of its threads is fixed: the supervisor never does, workers are told.
"""

import atexit
import gc

# Python 3.11 may crash at its end when it collects types of msgspec 0.22; what is frozen is not collected.
atexit.register(gc.freeze)
