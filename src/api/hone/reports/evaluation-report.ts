import { comparedRows } from '../../../contract/evaluations/compared-rows.ts';
import { whyIncomparable } from '../../../contract/evaluations/why-incomparable.ts';
import { bestOf, figureLabel, isToldInPercent, namesOfFigures } from '../../../contract/evaluations.ts';
import type { EvaluationDetail } from '../evaluations/schemas.ts';
import { markup } from './markup.ts';
import { answersOf, reportPage, type TableRow, tableOf } from './report-page.ts';
import { momentOf, numberOf, withoutFolders } from './report-text.ts';

/**
 * One evaluation, or several side by side, as one HTML file that loads nothing: figures, the digests of the rows, and
 * the rows if they are asked for. It has no paths.
 */
export function evaluationReport(found: readonly EvaluationDetail[], hasRows: boolean): string {
  const why = whyIncomparable(found);
  const names = found.map(
    ({ name, base_model: base, evaluation_id: id }) =>
      `${name.replace(base, () => withoutFolders(base))} (${id})`,
  );
  const row = (name: string, read: (one: EvaluationDetail) => string): TableRow => ({
    name,
    values: found.map(read),
  });
  const notes = [...(why === null ? [] : [why]), ...new Set(found.flatMap(({ warnings }) => warnings))];
  const rows = hasRows && why === null ? comparedRows(found) : [];
  return reportPage(
    found.length === 1 ? (names[0] as string) : `${found.length} evaluations compared`,
    notes.map((note) => markup`<p>${withoutFolders(note)}</p>`),
    tableOf(
      'Figures',
      namesOfFigures(found).map((name) => {
        const values = found.map(({ figures }) => figures?.[name]);
        const best = why === null ? bestOf(name, values) : null;
        const texts = values.map((value) =>
          numberOf(value != null && isToldInPercent(name) ? 100 * value : value),
        );
        return {
          name: figureLabel(name),
          values: texts.map((text, index) => (index === best ? markup`<b>${text}</b> best` : text)),
        };
      }),
      names,
    ),
    tableOf(
      'Evaluations',
      [
        row('State', ({ state }) => state),
        row('Started', ({ started_at, created_at }) => momentOf(started_at ?? created_at)),
        row('Base model', ({ base_model }) => withoutFolders(base_model)),
        row('Run', ({ job_id }) => job_id ?? '–'),
        row('Dataset', ({ dataset }) => withoutFolders(dataset)),
        row('Rows', ({ rows }) => String(rows)),
        row('SHA-256 of the rows', ({ rows_digest }) => rows_digest ?? 'not known'),
      ],
      names,
    ),
    rows.length === 0
      ? null
      : markup`<section><h2>Rows</h2>${rows.map(({ line, prompt, reference, rejected, results }) =>
          answersOf(markup`${line}. <bdi>${prompt}</bdi>`, [
            ...results.map((result, index) => [names[index] as string, result?.answer ?? null] as const),
            ['Reference', reference],
            ['Rejected', rejected],
          ]),
        )}</section>`,
  );
}
