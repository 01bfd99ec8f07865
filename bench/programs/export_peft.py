"""The first step of the peer of the export bench: `python export_peft.py BASE ADAPTER OUT` merges and saves."""

import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

base, adapter, out = sys.argv[1:4]
model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
PeftModel.from_pretrained(model, adapter).merge_and_unload().save_pretrained(out)
AutoTokenizer.from_pretrained(base).save_pretrained(out)
