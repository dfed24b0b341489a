"""Yelp 2018 challenge reviews, 10-core, from the train and test lists that come with LightGCN."""

from corml.datasets._known import Known, Remote

__all__ = ["yelp2018"]

_FOLDER = "https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/master/data/yelp2018/"

yelp2018 = Known(
    name="yelp2018",
    title="Yelp 2018 reviews: 31,668 users, 38,048 businesses, 1,561,406 visits",
    files=(
        Remote(_FOLDER + "train.txt", "yelp2018/train.txt"),
        Remote(_FOLDER + "test.txt", "yelp2018/test.txt"),
    ),
    licence="Yelp Dataset Terms of Use: academic use, do not redistribute",
    citation="X. He et al. LightGCN. SIGIR 2020; reviews from the Yelp Dataset Challenge 2018",
    accepts=("yelp2018.zip", "yelp2018.inter", "yelp2018/yelp2018.inter"),
    reader="adjacency",
)
