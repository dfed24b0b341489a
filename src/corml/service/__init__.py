"""The HTTP service: `corml serve` puts model files behind an API.

    supervisor      one light process: owns the socket and the verified model files, starts and replaces workers
      worker        a process that answers: event loop, models, reloads
        protocol    deadlines of a connection
        gate        who may pass, how much, how many at a time; logs and metrics
        app         routes, from one table
          operations  the table: path, request, answer, who may call
          schema      what requests and answers look like
          handlers    what is done: served (a loaded model), lists, why_not, lookup

Nothing here imports NumPy before the number of its threads is fixed: the supervisor never does, workers are told.
"""
