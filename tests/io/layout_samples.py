"""Samples of the public layouts: some lines of such a file, and what each of them says."""

SAMPLES = {
    "AlpacaEval": (
        """
{"instruction": "Name a river.", "generator_1": "gpt4", "generator_2": "alpaca", "preference": 1.0, "annotator": "w1"}
{"instruction": "Name a river.", "generator_1": "gpt4", "generator_2": "vicuna", "preference": 2.0, "annotator": "w1"}
{"instruction": "Add 2 and 2.", "generator_1": "gpt4", "generator_2": "alpaca", "preference": 1.0, "annotator": "w1"}
{"instruction": "Add 2 and 2.", "generator_1": "gpt4", "generator_2": "vicuna", "preference": 1.5, "annotator": "w1"}
{"instruction": "Write a haiku.", "generator_1": "gpt4", "generator_2": "alpaca", "preference": 2.0, "annotator": "w2"}
{"instruction": "Write a haiku.", "generator_1": "gpt4", "generator_2": "vicuna", "preference": 1.0, "annotator": "w2"}
{"instruction": "What is tea?", "generator_1": "alpaca", "generator_2": "vicuna", "preference": 2.0, "annotator": "w2"}
{"instruction": "Who was Ada?", "generator_1": "alpaca", "generator_2": "vicuna", "preference": 1.5, "annotator": "w2"}
""",
        (
            *("gpt4 > alpaca", "vicuna > gpt4", "gpt4 > alpaca", "gpt4 = vicuna"),
            *("alpaca > gpt4", "gpt4 > vicuna", "vicuna > alpaca", "alpaca = vicuna"),
        ),
    ),
    "BayesMallows": (
        """
assessor,bottom_item,top_item
1,2,15
1,5,3
1,13,3
1,4,7
1,5,15
2,12,1
2,4,9
2,15,2
3,3,10
3,1,12
""",
        ("15 > 2", "3 > 5", "3 > 13", "7 > 4", "15 > 5", "1 > 12", "9 > 4", "2 > 15", "10 > 3", "12 > 1"),
    ),
    "ComparIA": (
        """
model_a_name,model_b_name,chosen_model_name,both_equal
mistral-nemo,llama-3.1-8b,mistral-nemo,False
gemma-2-9b,mistral-nemo,,True
llama-3.1-8b,gemma-2-9b,gemma-2-9b,False
qwen2.5-7b,mistral-nemo,mistral-nemo,False
qwen2.5-7b,gemma-2-9b,,True
llama-3.1-8b,qwen2.5-7b,qwen2.5-7b,False
gemma-2-9b,llama-3.1-8b,gemma-2-9b,False
mistral-nemo,qwen2.5-7b,qwen2.5-7b,False
""",
        (
            *("mistral-nemo > llama-3.1-8b", "gemma-2-9b = mistral-nemo", "gemma-2-9b > llama-3.1-8b"),
            *("mistral-nemo > qwen2.5-7b", "qwen2.5-7b = gemma-2-9b", "qwen2.5-7b > llama-3.1-8b"),
            *("gemma-2-9b > llama-3.1-8b", "qwen2.5-7b > mistral-nemo"),
        ),
    ),
    "GenAI-Bench": (
        """
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
        (
            *("PlayGround V2 > SDXL", "SDXL > SDXLTurbo", "LCM = SDXL", "PlayGround V2 > LCM"),
            *("SDXL > LCM", "SDXLTurbo = PlayGround V2", "SDXLTurbo > LCM", "PlayGround V2 > SDXL"),
        ),
    ),
    "pairwiseLLM": (
        """
ID1,ID2,better_id
S01,S02,S02
S01,S03,S01
S02,S03,S02
S04,S01,S04
S04,S02,S02
S03,S04,S04
S05,S01,S01
S05,S03,S05
""",
        ("S02 > S01", "S01 > S03", "S02 > S03", "S04 > S01", "S02 > S04", "S04 > S03", "S01 > S05", "S05 > S03"),
    ),
    "Tournesol": (
        """
public_username,video_a,video_b,criteria,score,week_date
ann,yT1aa,yT2bb,largely_recommended,-8.0,2024-01-01
ann,yT2bb,yT3cc,largely_recommended,3.0,2024-01-01
ann,yT1aa,yT3cc,largely_recommended,-2.0,2024-01-08
bob,yT1aa,yT2bb,largely_recommended,0.0,2024-01-08
bob,yT3cc,yT4dd,largely_recommended,10.0,2024-01-15
bob,yT2bb,yT4dd,largely_recommended,5.0,2024-01-15
cy,yT1aa,yT4dd,largely_recommended,-1.0,2024-01-22
cy,yT4dd,yT2bb,largely_recommended,-4.0,2024-01-22
""",
        (
            *("yT1aa > yT2bb", "yT3cc > yT2bb", "yT1aa > yT3cc", "yT1aa = yT2bb"),
            *("yT4dd > yT3cc", "yT4dd > yT2bb", "yT1aa > yT4dd", "yT4dd > yT2bb"),
        ),
    ),
}
