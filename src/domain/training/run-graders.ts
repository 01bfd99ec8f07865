import { isDeepStrictEqual } from 'node:util';
import { missingColumn } from '../../contract/graders/templates.ts';
import { type GoldenPrompt, usualThreshold, type WeightedGrader } from '../../contract/settings.ts';
import { AppError } from '../../errors.ts';
import type { Faults } from '../../faults.ts';
import { readRow } from '../datasets/rows/read-row.ts';
import type { TrainingData } from '../datasets/training-data.ts';
import { type GraderDefinition, partsOf } from '../graders/grader-definition.ts';
import type { Graders } from '../graders/graders.ts';

/**
 * The graders of a run as definitions with names and weights, so that the trainer reads no database. Adds an error for each
 * that there is not, that comes twice, or that names a column which the first row of the dataset does not have.
 * @param data the rows whose answers are graded, if they are known.
 * @param mayDefine whether those that not every client may define need not be stored.
 */
export async function runGraders(
  wanted: readonly WeightedGrader[],
  graders: Pick<Graders, 'get' | 'list'>,
  data: Pick<TrainingData, 'path' | 'shape'> | null,
  faults: Faults,
  mayDefine = false,
): Promise<WeightedGrader[]> {
  if (data?.shape === 'text') {
    faults.add(
      'graders',
      'graders score answers, and rows of the shape text are not answered; leave them out, or choose another dataset',
    );
  }
  const row = await firstRow(data?.path ?? null);
  const found: { readonly grader: Named; readonly weight: number }[] = [];
  for (const one of wanted) {
    const { name, grader, weight = 1 } = typeof one === 'string' ? { name: one } : one;
    await faults.of('graders', async () => {
      const definition = define(grader ?? (name as string), graders, mayDefine);
      const fault = row === null ? null : missingColumn(definition, row);
      if (fault !== null) faults.add('graders', `the grader ${definition.name} ${fault}`);
      if (found.some((other) => other.grader.name === definition.name))
        faults.add('graders', `the grader ${definition.name} is named twice`);
      found.push({ grader: definition, weight });
    });
  }
  return found;
}

/**
 * The prompts of a run with their graders as definitions. Adds an error for each grader that there is not, or that names a
 * column which the prompt's `item` does not have.
 */
export async function runPrompts(
  prompts: readonly GoldenPrompt[],
  graders: Pick<Graders, 'get' | 'list'>,
  faults: Faults,
  mayDefine = false,
): Promise<GoldenPrompt[]> {
  const found: GoldenPrompt[] = [];
  for (const one of prompts) {
    if (typeof one === 'string' || one.grader === undefined) {
      found.push(one);
      continue;
    }
    const { prompt, reference, grader, threshold = usualThreshold } = one;
    const wanted = reference === undefined ? {} : { reference, output: reference };
    const item = { prompt, input: prompt, ...wanted, ...one.item };
    await faults.of('golden_prompts', () => {
      const definition = define(grader, graders, mayDefine);
      const fault = missingColumn(definition, item);
      if (fault !== null)
        faults.add('golden_prompts', `the grader ${definition.name} ${fault}; add it to item`);
      found.push({ ...one, grader: definition, threshold, item });
    });
  }
  return found;
}

type Named = GraderDefinition & { readonly name: string };

/** A stored grader by name, or a definition, which the schema of the request has read. @throws AppError */
function define(
  given: string | Readonly<Record<string, unknown>>,
  graders: Pick<Graders, 'get' | 'list'>,
  mayDefine: boolean,
): Named {
  const found = typeof given === 'string' ? graders.get(given).definition : (given as GraderDefinition);
  const definition = { ...found, name: found.name ?? found.type };
  if (
    typeof given !== 'string' &&
    !mayDefine &&
    mustBeStored(definition) &&
    !graders.list().some((stored) => isDeepStrictEqual(stored.definition, definition))
  )
    throw new AppError(
      'invalid',
      `the grader ${definition.name} runs Python or names a server; store it (POST /api/graders), and name it here`,
    );
  return definition;
}

/** Whether not every client may define it (`Graders.requireAllowed`), so that a definition must be a stored one. */
const mustBeStored = (grader: GraderDefinition): boolean =>
  partsOf(grader).some((part) => part.type === 'python' || 'base_url' in part);

async function firstRow(path: string | null): Promise<Readonly<Record<string, unknown>> | null> {
  const text = path === null ? null : await readRow(path, 1, new AbortController().signal);
  return text === null || text.trim() === '' ? null : JSON.parse(text);
}
