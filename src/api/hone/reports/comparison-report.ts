import { metricName } from '../../../contract/training/metric-names.ts';
import { charts, lineChart, pointsOf } from './line-chart.ts';
import { type Markup, markup } from './markup.ts';
import { answersOf, reportPage, type TableRow, tableOf } from './report-page.ts';
import { momentOf, numberOf, settingLabel, settingText, withoutFolders } from './report-text.ts';
import type { RunFacts } from './run-report.ts';

/**
 * Several runs side by side as one HTML file that loads nothing. What it leaves out is what `runReport` leaves out.
 * @param hasRows whether prompts and answers are in it: they are rows of the datasets.
 */
export function comparisonReport(runs: readonly RunFacts[], hasRows: boolean): string {
  const names = namesOf(runs);
  const table = (heading: string, rows: readonly TableRow[]) => tableOf(heading, rows.map(marked), names);
  const row = (name: string, read: (run: RunFacts) => string): TableRow => ({ name, values: runs.map(read) });
  const keysOf = (read: (run: RunFacts) => object | null) => [
    ...new Set(runs.flatMap((run) => Object.keys(read(run) ?? {}))),
  ];
  return reportPage(
    `${runs.length} runs compared`,
    [markup`<p>Values that differ are bold.</p>`],
    table('Runs', [
      row('Run', ({ job }) => job.job_id),
      row('State', ({ job }) => job.state),
      row('Started', ({ job }) => momentOf(job.started_at ?? job.created_at)),
      row('Verdict', ({ job }) => job.verdict?.judgement.sentence ?? '–'),
      row('Task', ({ job }) => job.task),
      row('Strategy', ({ job }) => job.strategy),
      row('Base model', ({ job }) => withoutFolders(job.model_name)),
      row('Dataset', ({ job }) => withoutFolders(job.dataset)),
      row('Rows', ({ data }) => String(data?.rows ?? '–')),
      row('SHA-256 of the rows', ({ data }) => data?.sha256 ?? 'not known: the rows were deleted'),
      row('Validation dataset', ({ job }) => withoutFolders(job.validation_dataset ?? '–')),
    ]),
    hasRows ? answers(runs, names) : null,
    comparedCharts(runs, names),
    table(
      'Figures',
      keysOf(({ job }) => job.metrics).map((key) =>
        row(metricName(key), ({ job }) => numberOf(job.metrics?.[key])),
      ),
    ),
    table(
      'Settings',
      keysOf(({ job }) => job.settings).map((key) =>
        row(settingLabel(key), ({ job }) => settingText(job.settings[key])),
      ),
    ),
  );
}

/** What runs are called; with the ID where others have the same name. */
function namesOf(runs: readonly RunFacts[]): string[] {
  const isShared = (name: string) => runs.filter(({ job }) => job.display_name === name).length > 1;
  return runs.map(({ job: { display_name: name, job_id: id } }) =>
    isShared(name) ? `${name} (${id})` : name,
  );
}

/** A row with its values bold if they differ. */
const marked = ({ name, values }: TableRow): TableRow =>
  new Set(values).size > 1
    ? { name, values: values.map((value) => markup`<b>${value}</b>`) }
    : { name, values };

function comparedCharts(runs: readonly RunFacts[], names: readonly string[]): Markup | null {
  const lines = (read: (run: RunFacts) => ReturnType<typeof pointsOf>, hasDots = false) =>
    runs.map((run, index) => ({ name: names[index] as string, points: read(run), hasDots }));
  return charts([
    lineChart(
      'Loss',
      lines(({ series }) => pointsOf(series.train, ({ loss }) => loss)),
    ),
    lineChart(
      'Evaluation loss',
      lines(({ series }) => pointsOf(series.eval, ({ metrics }) => metrics.eval_loss), true),
    ),
    lineChart(
      'Learning rate',
      lines(({ series }) => pointsOf(series.train, (row) => row.learning_rate)),
    ),
  ]);
}

/** The answers of all runs to each of their prompts. */
function answers(runs: readonly RunFacts[], names: readonly string[]): Markup | null {
  const given = runs.map(({ job }) => new Map(job.verdict?.prompts.map((one) => [one.prompt, one])));
  const prompts = [...new Set(given.flatMap((of) => [...of.keys()]))];
  if (prompts.length === 0) return null;
  return markup`<section><h2>Answers</h2>${prompts.map((prompt) => {
    const reference = given.map((of) => of.get(prompt)?.reference ?? null).find((text) => text !== null);
    return answersOf(markup`<bdi>${prompt}</bdi>`, [
      ...given.map((of, index) => [names[index] as string, of.get(prompt)?.tuned ?? null] as const),
      ['Reference', reference ?? null],
    ]);
  })}</section>`;
}
