import { isOfGrader } from '../../../contract/evaluations.ts';
import { chosenText } from '../../../contract/models/chosen-text.ts';
import { lossText } from '../../../contract/training/loss-text.ts';
import { metricName } from '../../../contract/training/metric-names.ts';
import type { DataDigest } from '../../../domain/job-record/data-digest.ts';
import type { Series } from '../frames/schemas.ts';
import type { presentJobDetail } from '../jobs/presenters.ts';
import { charts, type Line, lineChart, pointsOf } from './line-chart.ts';
import { type Markup, markup } from './markup.ts';
import { answersOf, reportPage, type TableRow, tableOf } from './report-page.ts';
import { momentOf, numberOf, settingLabel, settingText, withoutFolders } from './report-text.ts';

type Detail = ReturnType<typeof presentJobDetail>;
type Verdict = NonNullable<Detail['verdict']>;

/** What is known of a run. */
export interface RunFacts {
  readonly job: Detail;
  readonly series: Series;
  /** The rows that it was trained on; `null` if their file is gone. */
  readonly data: DataDigest | null;
}

/**
 * A run as one HTML file that loads nothing: verdict, charts, answers, settings and the digest of the data. It has no
 * notes, addresses or paths, and no rows unless they are asked for.
 * @param hasRows whether prompts and answers are in it: they are rows of the dataset.
 */
export function runReport({ job, series, data }: RunFacts, hasRows: boolean): string {
  const { verdict } = job;
  return reportPage(
    job.display_name,
    [
      markup`<p>${job.job_id} · ${job.state} · started ${momentOf(job.started_at ?? job.created_at)}</p>
<p>${job.task} on <bdi>${withoutFolders(job.dataset)}</bdi> · ${job.strategy} · base <bdi>${withoutFolders(job.model_name)}</bdi></p>`,
    ],
    verdict === null ? null : verdictOf(verdict, job.export),
    verdict === null || !hasRows
      ? null
      : markup`<section><h2>Answers</h2>${verdict.prompts.map(promptOf)}</section>`,
    chartsOf(series),
    tableOf(
      'Figures',
      Object.entries(job.metrics ?? {}).map(([key, value]) => row(metricName(key), numberOf(value))),
    ),
    tableOf('Data', dataOf(job, data)),
    tableOf(
      'Settings',
      Object.entries(job.settings).map(([name, value]) => row(settingLabel(name), settingText(value))),
    ),
  );
}

const row = (name: string, value: string): TableRow => ({ name, values: [value] });

function verdictOf(
  { loss, metric, judgement, retention, verified, reason }: Verdict,
  exported: Detail['export'],
): Markup {
  const change = (
    name: string,
    { base, tuned }: { base: number | null; tuned: number },
    text: (value: number) => string,
  ) => markup`<li>${name}: ${base === null ? '' : `${text(base)} → `}<b>${text(tuned)}</b></li>`;
  const of = exported?.chosen == null ? null : `The files have ${chosenText(exported.chosen)}.`;
  const told = [
    ...(loss === null ? [] : [change('Evaluation loss', loss, lossText)]),
    ...(metric === null ? [] : [change(metricName(metric.name), metric, numberOf)]),
  ];
  return markup`<section>
<h2>Verdict</h2>
<p class="judgement">${judgement.sentence}</p>
<ul>
${metric !== null && isOfGrader(metric.name) ? told.reverse() : told}
${retention && change('Loss on general text', retention.loss, lossText)}
${verified === null ? null : markup`<li>${verified ? 'The exported file has the trained weights.' : 'The exported file was not verified.'}</li>`}
</ul>
${[...judgement.notes, reason, retention?.advice, of].filter((note) => note != null).map((note) => markup`<p class="note">${withoutFolders(note)}</p>`)}
</section>`;
}

const promptOf = ({ prompt, reference, trained, base, tuned }: Verdict['prompts'][number]): Markup =>
  answersOf(markup`<bdi>${prompt}</bdi>${trained ? ' (trained on)' : ''}`, [
    ['Base model', base],
    ['Fine-tuned', tuned],
    ['Reference', reference],
  ]);

function chartsOf({ train, eval: evaluated }: Series): Markup | null {
  const measured = new Set(evaluated.flatMap(({ metrics }) => Object.keys(metrics)));
  const evaluation = (key: string): Line => ({
    name: 'Evaluation',
    points: pointsOf(evaluated, ({ metrics }) => metrics[key]),
    hasDots: true,
  });
  const training = (read: (row: Series['train'][number]) => unknown): Line => ({
    name: 'Training',
    points: pointsOf(train, read),
  });
  const extras = new Set(train.flatMap(({ extra }) => Object.keys(extra)));
  return charts([
    lineChart('Loss', [training(({ loss }) => loss), evaluation('eval_loss')]),
    ...[...new Set([...extras, ...measured])]
      .filter((key) => key !== 'eval_loss')
      .map((key) => lineChart(metricName(key), [training(({ extra }) => extra[key]), evaluation(key)])),
    lineChart('Learning rate', [training(({ learning_rate }) => learning_rate)]),
  ]);
}

function dataOf(job: Detail, data: DataDigest | null): TableRow[] {
  return [
    row('Dataset', withoutFolders(job.dataset)),
    ...(data?.rows == null ? [] : [row('Rows', String(data.rows))]),
    row('SHA-256 of the rows', data?.sha256 ?? 'not known: the rows were deleted'),
    ...(job.validation_dataset === null
      ? []
      : [row('Validation dataset', withoutFolders(job.validation_dataset))]),
  ];
}
