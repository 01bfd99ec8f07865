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

const pieceCharacters = 2 ** 23;

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
export async function maskTexts(
  command: TrainerCommand,
  packages: string,
  texts: readonly string[],
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<MaskedTexts> {
  const asked = { what: 'masked texts', args: ['mask', packages], answer, folder, signal };
  const found: Record<string, number> = {};
  const masked: string[] = [];
  let names = false;
  for (const piece of piecesOf(texts)) {
    const input = JSON.stringify({ texts: piece });
    const said = await askTrainer(command, { ...asked, input, secrets: null, timeoutMs: null });
    masked.push(...said.texts);
    for (const [kind, count] of Object.entries(said.found)) found[kind] = (found[kind] ?? 0) + count;
    names = said.names;
  }
  return { texts: masked, found, names };
}

/** Texts in pieces of about so many characters: what a process prints is bounded. */
function* piecesOf(texts: readonly string[]): Generator<string[]> {
  let piece: string[] = [];
  let characters = 0;
  for (const text of texts) {
    piece.push(text);
    characters += text.length;
    if (characters < pieceCharacters) continue;
    yield piece;
    piece = [];
    characters = 0;
  }
  // Also without a text: it says whether names are found.
  if (piece.length > 0 || texts.length === 0) yield piece;
}
