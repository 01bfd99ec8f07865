import { join } from 'node:path';
import * as v from 'valibot';
import { askTrainer } from '../ask.ts';
import type { TrainerCommand } from '../processes/supervisor.ts';

/** Where `hone mask add` puts what finds personal data, in the data directory. */
export const maskingFolder = (dataDir: string): string => join(dataDir, 'masking', 'packages');
export const maskingPackages = ['presidio-analyzer==2.2.366', 'presidio-anonymizer==2.2.366'] as const;
/** spaCy's small English model, which finds names; it is in no registry of packages. */
export const maskingModel =
  'https://github.com/explosion/spacy-models/releases/download/en_core_web_sm-3.8.0/en_core_web_sm-3.8.0-py3-none-any.whl';

const answer = v.object({
  texts: v.array(v.string()),
  /** How many values of each kind were masked, such as `EMAIL_ADDRESS`. */
  found: v.record(v.string(), v.number()),
  /** Whether names of people and places are found. */
  names: v.boolean(),
});
export type MaskedTexts = v.InferOutput<typeof answer>;

/**
 * Replaces personal data in texts by its kind, such as `<EMAIL_ADDRESS>`.
 * @param packages the folder that `hone mask add` has filled.
 * @throws AppError as `askTrainer`.
 */
export function maskTexts(
  command: TrainerCommand,
  packages: string,
  texts: readonly string[],
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<MaskedTexts> {
  const input = JSON.stringify({ texts });
  const asked = { what: 'masked texts', args: ['mask', packages], input, answer, folder, signal };
  return askTrainer(command, { ...asked, secrets: null, timeoutMs: null });
}
