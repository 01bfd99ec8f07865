import { loadAddon } from './addon.ts';

/**
 * Skips lines of `bytes`, from `from` up to `to`, that are certainly JSON objects with only string values (no
 * lone surrogates) and all of `fields`. The caller checks UTF-8. Without the addon no line is skipped.
 * @returns the number of lines skipped, and the byte offset of the first other line.
 */
export function scanRows(
  bytes: Uint8Array,
  from: number,
  to: number,
  fields: readonly string[],
): { readonly rows: number; readonly offset: number } {
  return loadAddon().addon?.scanRows(bytes, from, to, fields) ?? { rows: 0, offset: from };
}
