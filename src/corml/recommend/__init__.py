"""From a query to a list: allowed items, scores, ranking, re-ranking, result, explanation."""
