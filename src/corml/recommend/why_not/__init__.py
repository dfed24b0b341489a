"""Why an item is not in a list: `find` answers, `answer` has the verdict, the rank and what speaks for the item."""

from corml.recommend.why_not.answer import Lift, WhyNot
from corml.recommend.why_not.find import why_not

__all__ = ["Lift", "WhyNot", "why_not"]
