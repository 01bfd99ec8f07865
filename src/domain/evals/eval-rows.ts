import { readFile } from 'node:fs/promises';
import { columnsOf, missingColumn } from '../../contract/graders/templates.ts';
import { AppError } from '../../errors.ts';
import { firstBroken } from '../../inference/schema/schema-errors.ts';
import { type EvalRow, evalBounds, parseEvalRows } from '../fine-tuning/eval-files.ts';
import type { FineTuningFiles } from '../fine-tuning/fine-tuning-files.ts';
import type { Criterion } from './criteria.ts';
import type { Eval } from './objects.ts';

/** Where rows come from. */
export type RowSource =
  | { readonly type: 'file_content'; readonly content: readonly EvalRow[] }
  | { readonly type: 'file_id'; readonly id: string };

/** Of an error: what breaks a schema may be long. */
const mostCharacters = 1000;

/** An error of a request about its rows. */
export function rowFault(source: RowSource, at: number | null, text: string): AppError {
  const isFile = source.type === 'file_id';
  const place = isFile ? ['id'] : ['content', ...(at === null ? [] : [String(at)])];
  const told = text.slice(0, mostCharacters);
  const msg = at === null ? told : `${isFile ? 'Line' : 'Row'} ${at + 1}: ${told}`;
  return new AppError('invalid', msg, {
    issues: [{ loc: ['body', 'data_source', 'source', ...place], msg, type: 'value_error' }],
  });
}

/** The rows of a source. @throws AppError `not_found`, or `invalid`. */
export async function readRows(source: RowSource, files: FineTuningFiles): Promise<readonly EvalRow[]> {
  if (source.type === 'file_content') return source.content;
  const content = await files.content(source.id);
  if (content.kind === 'stored' && content.bytes > evalBounds.fileBytes)
    throw rowFault(source, null, `The file is larger than ${evalBounds.fileBytes >> 20} MiB.`);
  try {
    return content.kind === 'stored'
      ? parseEvalRows(await readFile(content.path, 'utf8'), true)
      : parseEvalRows(content.text, false);
  } catch (error) {
    throw rowFault(source, null, (error as Error).message);
  }
}

/**
 * @param asks whether a model answers the rows.
 * @throws AppError `invalid` for the first row that does not fit the eval.
 */
export async function checkRows(
  source: RowSource,
  rows: readonly EvalRow[],
  { data_source_config: config }: Pick<Eval, 'data_source_config'>,
  criteria: readonly Criterion[],
  asks: boolean,
): Promise<void> {
  if (rows.length === 0 || rows.length > evalBounds.rows)
    throw rowFault(source, null, `There must be 1 to ${evalBounds.rows} rows, not ${rows.length}.`);
  const { item: schema } = (config.schema.properties ?? {}) as Record<string, Record<string, unknown>>;
  const broken = await firstBroken(
    schema ?? {},
    rows.map((row) => row.item),
  ).catch((error) => {
    throw rowFault(source, null, `The rows could not be held to item_schema: ${error.message}`);
  });
  if (broken !== null)
    throw rowFault(source, broken.at, `It does not fit item_schema: ${broken.errors.join('; ')}`);
  for (const [at, row] of rows.entries())
    for (const one of criteria) {
      const fault = missingColumn(one, row.item);
      if (fault !== null) throw rowFault(source, at, `The testing criterion ${one.name} ${fault}`);
      if (!asks && typeof row.sample?.output_text !== 'string' && columnsOf(one, 'sample').length > 0)
        throw rowFault(
          source,
          at,
          `It has no sample.output_text, at which the testing criterion ${one.name} looks.`,
        );
    }
}
