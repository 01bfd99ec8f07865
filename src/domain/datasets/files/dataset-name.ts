import { AppError } from '../../../errors.ts';

const extension = '.jsonl';
/** File systems allow 255 bytes; a converted dataset appends to the name, and jobs derive names from it. */
const maximumStemBytes = 200;

/** The start of a text in at most `bytes` bytes of UTF-8, without half a character. */
function cutToBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

/**
 * A sanitized file name, of at most 100 UTF-16 units and 200 bytes before its extension.
 * @param suffix appended before the extension; the rest is cut to make room for it.
 * @throws AppError `invalid` when it is not a `.jsonl`.
 */
export function datasetName(filename: string, suffix = ''): string {
  const base = filename.normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  if (!base.toLowerCase().endsWith(extension)) {
    throw new AppError(
      'invalid',
      `The file must be a .jsonl file (one JSON object per line), not "${base.slice(0, 100)}". CSV, Parquet, Arrow and JSON files can be imported: on the page under Datasets, or with POST /api/imports.`,
    );
  }
  const stem = base
    .slice(0, -extension.length)
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[._]+/, '')
    .slice(0, 100 - suffix.length)
    // The cut may have left half a character.
    .replace(/[\ud800-\udbff]$/, '');
  return `${cutToBytes(stem, maximumStemBytes - suffix.length) || 'dataset'}${suffix}${extension}`;
}
