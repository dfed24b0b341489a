"""What the studio page needs besides lists: a map of the items, sample profiles, the data, and jobs that fit.

    schema      the types of these requests and answers
    atlas       the map, made in the background once for each model file, and sample profiles from its regions
    about_data  facts, findings and popularity
    results     studies and evaluations in the folder of a model file
    jobs        a fit under way, and its progress as events
    process     `corml studio`: one process that fits, serves and shows

The page itself is in `corml/service/page`.
"""
