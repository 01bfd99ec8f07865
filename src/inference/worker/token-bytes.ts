import type { GgufFile } from '../gguf/gguf.ts';

const control = 3;
const userDefined = 4;
const unused = 5;
const byte = 6;
const unknown = 2;

/** The byte for each of GPT-2's printable stand-in characters. */
function byteAlphabet(): Map<string, number> {
  const alphabet = new Map<string, number>();
  let next = 256;
  for (let value = 0; value < 256; value++) {
    const printable =
      (value >= 0x21 && value <= 0x7e) ||
      (value >= 0xa1 && value <= 0xac) ||
      (value >= 0xae && value <= 0xff);
    alphabet.set(String.fromCodePoint(printable ? value : next++), value);
  }
  return alphabet;
}

/** Byte-pair vocabularies that store UTF-8 text with ▁ for a space, like SentencePiece. */
const plainPairs = new Set(['gemma4', 'granite-embed-multi-311m', 'sarvam-moe', 'whitespace']);

/**
 * The exact bytes of each token. llama.cpp's own detokenizer returns strings, which break characters that span several
 * tokens, and with some vocabularies it removes spaces that the model generated ("clean up").
 *
 * Control tokens are empty. Returns null for vocabularies other than byte-pair and SentencePiece.
 */
export function createTokenBytes(file: GgufFile): ((token: number) => Uint8Array) | null {
  const bytePairs = file.tokenizerModel === 'gpt2' && !plainPairs.has(file.tokenizerPre);
  const pieces =
    ['llama', 'gemma4'].includes(file.tokenizerModel) || (file.tokenizerModel === 'gpt2' && !bytePairs);
  if (!bytePairs && !pieces) return null;
  const alphabet = byteAlphabet();
  const encoder = new TextEncoder();
  return (token) => {
    const text = file.tokens[token];
    const type = file.tokenTypes[token] ?? 1;
    if (text === undefined || type === control || type === unused || type === unknown)
      return new Uint8Array();
    if (type === userDefined) return encoder.encode(text);
    if (type === byte) return Uint8Array.of(Number.parseInt(text.slice(3, 5), 16));
    if (pieces) return encoder.encode(text.replaceAll('\u2581', ' '));
    const bytes: number[] = [];
    for (const character of text) {
      const value = alphabet.get(character);
      if (value === undefined) bytes.push(...encoder.encode(character));
      else bytes.push(value);
    }
    return Uint8Array.from(bytes);
  };
}
