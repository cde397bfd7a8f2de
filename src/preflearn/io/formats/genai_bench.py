"""GenAI-Bench: votes of an arena of pictures and films, in words of their own."""

from preflearn.io.formats.format import Format

GENAI_BENCH = Format(
    "GenAI-Bench",
    columns=("left_model", "right_model", "vote_type"),
    roles={"first": "left_model", "second": "right_model", "outcome": "vote_type"},
    words={"leftvote": 1.0, "rightvote": -1.0, "tievote": 0.0, "bothbadvote": 0.0},
    sample="""
left_model,right_model,prompt,vote_type
SDXL,PlayGround V2,a cat on a sofa,rightvote
SDXLTurbo,SDXL,a cat on a sofa,rightvote
LCM,SDXL,a red boat,bothbad_vote
PlayGround V2,LCM,a red boat,leftvote
SDXL,LCM,two dogs in the snow,leftvote
SDXLTurbo,PlayGround V2,two dogs in the snow,tievote
LCM,SDXLTurbo,an old bridge,rightvote
PlayGround V2,SDXL,an old bridge,leftvote
""",
    says=(
        *("PlayGround V2 > SDXL", "SDXL > SDXLTurbo", "LCM = SDXL", "PlayGround V2 > LCM"),
        *("SDXL > LCM", "SDXLTurbo = PlayGround V2", "SDXLTurbo > LCM", "PlayGround V2 > SDXL"),
    ),
)
