import type { ExportOutcome } from './journal.ts';

/**
 * What became of the GGUF files where that was not written down, as by earlier versions: they completed only what was
 * exported as asked.
 */
export function derivedExport(
  artifacts: readonly { readonly kind: string; readonly quantization: string | null }[],
): ExportOutcome {
  const files = artifacts.flatMap(({ kind, quantization }) =>
    kind === 'gguf' && quantization !== null ? [{ quantization, state: 'done' as const, reason: null }] : [],
  );
  const state = files.length > 0 ? 'done' : 'skipped';
  return { state, code: null, reason: null, advice: null, files };
}
