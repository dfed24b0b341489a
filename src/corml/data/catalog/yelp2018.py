"""Yelp 2018 challenge reviews, 10-core, from the train and test lists that come with LightGCN."""

from corml.data.catalog._known import Known, Remote

__all__ = ["yelp2018"]

_COMMIT = "07e2ac6d10b42ce446c9b337d41ee9c4be4b1cf6"
_FOLDER = f"https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/{_COMMIT}/data/yelp2018/"

yelp2018 = Known(
    name="yelp2018",
    title="Yelp 2018 reviews: 31,668 users, 38,048 businesses, 1,561,406 visits",
    files=(
        # RecZoo (Yelp18_m1) and DeepHypergraph both publish these md5 sums of the files; of the second a sha256 is
        # published too.
        Remote(_FOLDER + "train.txt", "yelp2018/train.txt", md5="1b8b5d22a227e01d6de002c53d32b4c4"),
        Remote(
            _FOLDER + "test.txt",
            "yelp2018/test.txt",
            "9cd9b37926cd1447a06625ffa7914527573fb097c10cb0bbdb1d1b8ded3742fe",
            "0d57d7399862c32152b045ec5d2698e7",
        ),
    ),
    licence="Yelp Dataset Terms of Use: academic use, do not redistribute",
    citation="X. He et al. LightGCN. SIGIR 2020; reviews from the Yelp Dataset Challenge 2018",
    accepts=("yelp2018.zip", "yelp2018.inter", "yelp2018/yelp2018.inter"),
    reader="adjacency",
)
