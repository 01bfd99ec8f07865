/** A tokenizer as one file: tokenizer.json, or SentencePiece's model by one of its names (as trainer/model/check.py). */
const tokenizerFiles = [
  'tokenizer.json',
  'tokenizer.model',
  'sentencepiece.bpe.model',
  'spiece.model',
  'spm.model',
];

/** Whether a model with these files has a tokenizer that Hone reads. */
export const hasTokenizer = (files: readonly string[]): boolean =>
  tokenizerFiles.some((name) => files.includes(name));

/** The error for a model without one, such as those with only `vocab.txt`, or `vocab.json` and `merges.txt`. */
export const tokenizerRefusal = (model: string): string =>
  `${model} has no tokenizer.json and no SentencePiece model (${tokenizerFiles.slice(1).join(', ')}). Vocabularies of older tokenizers (vocab.txt, or vocab.json and merges.txt) are not read by Hone; convert the model with transformers, and give the folder: AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)`;
