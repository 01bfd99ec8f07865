"""The peer of the export bench, its second step: `python export_convert.py CONVERTER_DIR ARGUMENT…`.

Runs llama.cpp's convert_hf_to_gguf.py. That one tells tokenizers by a digest that only published ones have; the
bench's is made here, and is of GPT-2's kind.
"""

import runpy
import sys

converter = sys.argv.pop(1)
sys.path[:0] = [converter, f"{converter}/gguf-py"]
from conversion.base import TextModel

TextModel.get_vocab_base_pre = lambda self, tokenizer: "gpt-2"
runpy.run_path(f"{converter}/convert_hf_to_gguf.py", run_name="__main__")
