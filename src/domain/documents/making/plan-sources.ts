import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../../errors.ts';
import { mulberry32 } from '../../datasets/splitting/mulberry32.ts';
import { createNearTexts } from '../../traffic/near-texts.ts';
import type { DocumentPage } from '../documents.ts';
import { type Passage, passagesOf } from '../passages.ts';
import type { MakingRequest, RowPart, RowSource } from './row-making.ts';

/** The most passages that a model is asked about. */
export const mostSources = 20_000;

/** What a model will be asked about. */
export interface PlannedSources {
  readonly sources: RowSource[];
  readonly nearDuplicates: number;
  readonly files: Readonly<Record<RowPart, readonly string[]>>;
}

/** In an order that a seed gives (Fisher and Yates). */
export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const all = [...values];
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [all[at], all[other]] = [all[other] as T, all[at] as T];
  }
  return all;
}

/**
 * The documents whose rows are for validation: as many as together have at most the share of passages, but at least the
 * smallest, and not all.
 */
function validationFiles(passages: readonly Passage[], share: number, random: () => number): Set<string> {
  const counts = new Map<string, number>();
  for (const { file } of passages) counts.set(file, (counts.get(file) ?? 0) + 1);
  const chosen = new Set<string>();
  if (share === 0 || counts.size < 2) return chosen;
  let room = share * passages.length;
  for (const [file, count] of shuffled([...counts], random)) {
    if (count > room || chosen.size === counts.size - 1) continue;
    chosen.add(file);
    room -= count;
  }
  const [smallest] = [...counts].sort(([, a], [, b]) => a - b)[0] as [string, number];
  return chosen.size > 0 ? chosen : new Set([smallest]);
}

/**
 * Divides documents into passages, leaves those out that are nearly the same as another, also of another document, and puts
 * each document into one part. The same seed gives the same sources in the same order.
 * @param isOver whether nobody waits for them any longer.
 */
export async function planSources(
  documents: readonly { readonly name: string; pages(): readonly DocumentPage[] }[],
  {
    passageCharacters,
    validationShare,
    seed,
  }: Pick<MakingRequest, 'passageCharacters' | 'validationShare' | 'seed'>,
  isOver: () => boolean,
): Promise<PlannedSources> {
  const near = createNearTexts();
  const passages: Passage[] = [];
  let nearDuplicates = 0;
  for (const { name, pages } of documents) {
    for (const [at, passage] of passagesOf(name, pages(), passageCharacters).entries()) {
      if (at % 100 === 0) await setImmediate();
      if (isOver()) throw new AppError('invalid', 'The client left before the passages were read.');
      if (near.find(passage.text) !== null) nearDuplicates += 1;
      else {
        near.add(passage.text);
        passages.push(passage);
      }
    }
  }
  const random = mulberry32(seed);
  const validation = validationFiles(passages, validationShare, random);
  const partOf = ({ file }: Passage): RowPart => (validation.has(file) ? 'validation' : 'training');
  const names = [...new Set(passages.map(({ file }) => file))];
  return {
    sources: shuffled(passages, random)
      .slice(0, mostSources)
      .map((passage) => ({ kind: 'passage', part: partOf(passage), passage })),
    nearDuplicates,
    files: {
      training: names.filter((name) => !validation.has(name)),
      validation: names.filter((name) => validation.has(name)),
    },
  };
}
