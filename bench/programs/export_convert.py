"""The second step of the peer of the export bench: `python export_convert.py CONVERTER_DIR ARGUMENT…`.

Runs llama.cpp's convert_hf_to_gguf.py, which recognizes only published tokenizers, by a digest. The bench has its
own tokenizer, so it is declared to be of GPT-2's type.
"""

import runpy
import sys

converter = sys.argv.pop(1)
sys.path[:0] = [converter, f"{converter}/gguf-py"]
from conversion.base import TextModel

TextModel.get_vocab_base_pre = lambda self, tokenizer: "gpt-2"
runpy.run_path(f"{converter}/convert_hf_to_gguf.py", run_name="__main__")
