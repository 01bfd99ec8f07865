import { loadAddon } from './addon.ts';

/**
 * Passes over lines of `bytes`, from `from` up to `to`, that are beyond doubt JSON objects of strings which have
 * all of `fields`; UTF-8 is for the caller to check. Without the addon it passes over none.
 * @returns how many lines, and the byte at which the first other line begins.
 */
export function scanRows(
  bytes: Uint8Array,
  from: number,
  to: number,
  fields: readonly string[],
): { readonly rows: number; readonly offset: number } {
  return loadAddon().addon?.scanRows(bytes, from, to, fields) ?? { rows: 0, offset: from };
}
