"""WHY NOT: why an item is not in a list.

answer      what is said: the verdict, the rank, the score that is needed, and what speaks for the item
question    an item and the options of a list: the list, the scores of all items, and which of them may be listed
rules       which rules of lists (boosts, diversity, max_per) keep the item out, and the score it needs with them
lifts       which items, added to the history, would lift it
find        the answer to a question
"""

from corml.recommend.why_not.answer import Lift, WhyNot
from corml.recommend.why_not.find import why_not

__all__ = ["Lift", "WhyNot", "why_not"]
