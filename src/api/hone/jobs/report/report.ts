import { settings as knownSettings } from '../../../../contract/settings.ts';
import { lossText } from '../../../../contract/training/loss-text.ts';
import { metricName } from '../../../../contract/training/metric-names.ts';
import type { DataDigest } from '../../../../domain/job-record/data-digest.ts';
import type { Series } from '../../frames/schemas.ts';
import type { presentJobDetail } from '../presenters.ts';
import { type Line, lineChart } from './line-chart.ts';
import { type Markup, markup } from './markup.ts';
import { reportStyle } from './report-style.ts';

type Detail = ReturnType<typeof presentJobDetail>;
type Verdict = NonNullable<Detail['verdict']>;

/** What a report is made of. */
export interface ReportFacts {
  readonly job: Detail;
  readonly series: Series;
  /** The rows that it was trained on; `null` if their file is gone. */
  readonly data: DataDigest | null;
  /** Whether prompts and answers are in it: they are rows of the dataset. */
  readonly hasRows: boolean;
}

/**
 * A run as one HTML file that loads nothing: verdict, charts, answers, settings and the digest of the data. It has no
 * notes, addresses or paths, and no rows unless they are asked for.
 */
export function reportOf({ job, series, data, hasRows }: ReportFacts): string {
  const { verdict } = job;
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${job.display_name} – Hone</title>
<style>${reportStyle}</style>
</head>
<body>
<header>
<h1><bdi>${job.display_name}</bdi></h1>
<p>${job.job_id} · ${job.state} · started ${momentOf(job.started_at ?? job.created_at)}</p>
<p>${job.task} on <bdi>${job.dataset}</bdi> · ${job.strategy} · base <bdi>${withoutFolders(job.model_name)}</bdi></p>
</header>
${verdict === null ? null : verdictOf(verdict)}
${verdict === null || !hasRows ? null : markup`<section><h2>Answers</h2>${verdict.prompts.map(promptOf)}</section>`}
${chartsOf(series)}
${pairsOf(
  'Figures',
  Object.entries(job.metrics ?? {}).map(([key, value]) => [metricName(key), numberOf(value)]),
)}
${pairsOf('Data', dataOf(job, data))}
${pairsOf(
  'Settings',
  Object.entries(job.settings).map(([name, value]) => [labelOf(name), settingOf(value)]),
)}
<footer><p>Made by Hone.</p></footer>
</body>
</html>
`;
  return page.text;
}

const momentOf = (iso: string) => `${iso.slice(0, 16).replace('T', ' ')} UTC`;
const numberOf = (value: number | null) => (value === null ? '–' : String(Number(value.toPrecision(4))));
const labelOf = (name: string) =>
  Object.hasOwn(knownSettings, name) ? knownSettings[name as keyof typeof knownSettings].label : name;
const settingOf = (value: unknown) =>
  value === null ? 'automatic' : Array.isArray(value) ? value.join(', ') : withoutFolders(String(value));
/** The last part of what is a path of this machine; a hub's name stays whole. */
const withoutFolders = (name: string) =>
  /^(?:[/~.]|[A-Za-z]:\\)/.test(name) ? (name.split(/[\\/]/).findLast((part) => part !== '') ?? name) : name;

function verdictOf({ loss, metric, judgement, verified, reason }: Verdict): Markup {
  const change = (
    name: string,
    { base, tuned }: { base: number | null; tuned: number },
    text: (value: number) => string,
  ) => markup`<li>${name}: ${base === null ? '' : `${text(base)} → `}<b>${text(tuned)}</b></li>`;
  return markup`<section>
<h2>Verdict</h2>
<p class="judgement">${judgement.sentence}</p>
<ul>
${loss === null ? null : change('Evaluation loss', loss, lossText)}
${metric === null ? null : change(metricName(metric.name), metric, numberOf)}
${verified === null ? null : markup`<li>${verified ? 'The exported file has the trained weights.' : 'The exported file was not verified.'}</li>`}
</ul>
${[...judgement.notes, ...(reason === null ? [] : [reason])].map((note) => markup`<p class="note">${note}</p>`)}
</section>`;
}

function promptOf({ prompt, reference, trained, base, tuned }: Verdict['prompts'][number]): Markup {
  const answer = (name: string, text: string | null) =>
    text === null
      ? null
      : markup`<dt>${name}</dt><dd><bdi>${text === '' ? '(empty answer)' : text}</bdi></dd>`;
  return markup`<article>
<h3><bdi>${prompt}</bdi>${trained ? ' (trained on)' : ''}</h3>
<dl>${answer('Base model', base)}${answer('Fine-tuned', tuned)}${answer('Reference', reference)}</dl>
</article>`;
}

function chartsOf({ train, eval: evaluated }: Series): Markup | null {
  const points = (rows: readonly { step: number }[], read: (row: never) => unknown): Line['points'] =>
    rows.flatMap((row) => {
      const value = read(row as never);
      return typeof value === 'number' ? [{ step: row.step, value }] : [];
    });
  const training = points(train, ({ loss }: Series['train'][number]) => loss);
  const measured = new Set(evaluated.flatMap(({ metrics }) => Object.keys(metrics)));
  const evaluation = (key: string): Line => ({
    name: 'Evaluation',
    points: points(evaluated, ({ metrics }: Series['eval'][number]) => metrics[key]),
  });
  const extras = new Set(train.flatMap(({ extra }) => Object.keys(extra)));
  const charts = [
    lineChart('Loss', [{ name: 'Training', points: training }, evaluation('eval_loss')]),
    ...[...new Set([...extras, ...measured])]
      .filter((key) => key !== 'eval_loss')
      .map((key) =>
        lineChart(metricName(key), [
          { name: 'Training', points: points(train, ({ extra }: Series['train'][number]) => extra[key]) },
          evaluation(key),
        ]),
      ),
    lineChart('Learning rate', [
      {
        name: 'Training',
        points: points(train, (row: Series['train'][number]) => row.learning_rate),
      },
    ]),
  ].filter((chart) => chart !== null);
  return charts.length === 0
    ? null
    : markup`<section><h2>Charts</h2><div class="charts">${charts}</div></section>`;
}

function dataOf(job: Detail, data: DataDigest | null): [string, string][] {
  return [
    ['Dataset', job.dataset],
    ...(data?.rows == null ? [] : [['Rows', String(data.rows)] as [string, string]]),
    ['SHA-256 of the rows', data?.sha256 ?? 'not known: the rows were deleted'],
    ...(job.validation_dataset === null
      ? []
      : [['Validation dataset', job.validation_dataset] as [string, string]]),
  ];
}

const pairsOf = (heading: string, pairs: readonly (readonly [string, string])[]): Markup | null =>
  pairs.length === 0
    ? null
    : markup`<section><h2>${heading}</h2><table>${pairs.map(
        ([name, text]) => markup`<tr><th scope="row">${name}</th><td><bdi>${text}</bdi></td></tr>`,
      )}</table></section>`;
