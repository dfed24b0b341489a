"""Gowalla check-ins, 10-core, as used since NGCF and LightGCN; the CoRML authors' own RecBole file."""

from corml.data.catalog._known import Known, Remote

__all__ = ["gowalla"]

gowalla = Known(
    name="gowalla",
    title="Gowalla check-ins: 29,858 users, 40,981 places, 1,027,370 visits",
    files=(
        # The checksum of the authors' file itself; no other source publishes one.
        Remote(
            "https://github.com/Joinn99/CoRML/raw/4ce0d018db6e03c2430f33535a6f21d0a3d5c0f1/Data/gowalla.zip",
            "gowalla.zip",
            "9e94668b22db5b57071925d00d215f7c2601f3ae723571ca19d0d3c2fac49d62",
        ),
    ),
    licence="no licence stated for the data: research use, do not redistribute",
    citation="E. Cho, S. A. Myers, J. Leskovec. Friendship and Mobility. KDD 2011; file by T. Wei et al., SIGIR 2023",
    accepts=("gowalla.inter", "gowalla/gowalla.inter"),
)
