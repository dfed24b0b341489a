"""Pinterest pins, from the train and test files that come with Neural Collaborative Filtering, without repeats."""

from corml.data.catalog._known import Known, Remote

__all__ = ["pinterest"]

_COMMIT = "0e678eea159f715991ffbb6d511752f62cf2ef31"
_FOLDER = f"https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/{_COMMIT}/Data/"

pinterest = Known(
    name="pinterest",
    title="Pinterest pins: 55,187 users, 9,916 images, 1,463,581 pins",
    files=(
        # No checksum of these two is published: the first download is noted beside them, the pairs have a fingerprint.
        Remote(_FOLDER + "pinterest-20.train.rating", "pinterest-20.train.rating"),
        Remote(_FOLDER + "pinterest-20.test.rating", "pinterest-20.test.rating"),
    ),
    licence="no licence stated for the data: research use, do not redistribute",
    citation="X. Geng et al. Learning Image and User Features. ICCV 2015; file by X. He et al., WWW 2017",
    accepts=("pinterest.zip", "pinterest.inter", "pinterest/pinterest.inter"),
    reader="pairs",
    fingerprint="e34717268227237c354784a5d957d5124d3ee2b099955024a91fabcdc756ca9b",
)
