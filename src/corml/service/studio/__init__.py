"""What the studio page asks for beside lists: a map of the items, people to begin as, the data, and jobs that fit.

    schema      what these requests and answers look like
    atlas       the map, made in the background once for each model file
    personas    histories to begin with, from regions of the map
    about_data  facts, findings and popularity
    beside      studies and evaluations in files beside a model's
    weighing    how strong kinds of events are, and what may be asked for instead
    jobs        a fit under way, and its progress as events
    process     `corml studio`: one process that fits, serves and shows

The page itself is in `corml/service/page`.
"""
