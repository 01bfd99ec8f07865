import { html, nothing, type TemplateResult } from 'lit';
import type { ChartLine } from '../elements/chart.ts';
import { formatCount, formatMemory, formatNumber } from '../elements/format.ts';
import { figure } from '../elements/parts.ts';
import type { Column, ColumnName, RunSeries } from '../state/series.ts';

type Format = (value: number | null | undefined) => string;

const short: Format = (value) => formatNumber(value, 3);
const percent: Format = (value) => (value == null ? '–' : `${formatNumber(value, 3)} %`);
const watts: Format = (value) => (value == null ? '–' : `${formatNumber(value, 3)} W`);

interface Single {
  readonly column: ColumnName;
  readonly name: string;
  readonly colour: string;
  readonly format: Format;
  /** Steps shorter than the sampling interval have no value. */
  readonly gaps?: boolean;
}

const singles: readonly Single[] = [
  { column: 'learning_rate', name: 'Learning rate', colour: '--line-2', format: short },
  { column: 'grad_norm', name: 'Gradient norm', colour: '--line-3', format: short },
  { column: 'tokens_per_second', name: 'Tokens per second', colour: '--line-4', format: formatCount },
  { column: 'memory_bytes', name: 'Trainer memory', colour: '--line-5', format: formatMemory },
  { column: 'gpu_percent', name: 'GPU utilization', colour: '--line-1', format: percent, gaps: true },
  { column: 'gpu_memory_bytes', name: 'GPU memory', colour: '--line-5', format: formatMemory, gaps: true },
  { column: 'gpu_watts', name: 'GPU power', colour: '--line-2', format: watts, gaps: true },
  { column: 'cpu_percent', name: 'CPU utilization', colour: '--line-4', format: percent, gaps: true },
];

const joinable = (label: string, colour: string, values: Column): ChartLine => ({
  label,
  colour,
  values,
  joined: true,
});
const evaluation = (values: Column): ChartLine => ({
  label: 'Evaluation',
  colour: '--line-2',
  values,
  sparse: true,
});

/** The loss of a run: raw, smoothed and evaluated. */
export function lossChart(series: RunSeries, options: { sync?: string; log?: boolean } = {}): TemplateResult {
  const evaluated = series.evaluated.get('eval_loss');
  const lines: readonly ChartLine[] = [
    { label: 'Raw', colour: '--line-1', values: series.columns.loss, faint: true },
    { label: 'Smoothed', colour: '--line-1', values: series.smoothed, filled: true },
    ...(evaluated === undefined ? [] : [evaluation(evaluated)]),
  ];
  return html`<hone-chart
    heading="Loss"
    .sync=${options.sync ?? ''}
    .log=${options.log ?? false}
    .steps=${series.steps}
    .lines=${lines}
    .revision=${series.version}
  ></hone-chart>`;
}

/** All charts of one run, without the empty ones. */
export function runCharts(series: RunSeries, log: boolean): TemplateResult {
  const chart = (name: string, lines: readonly ChartLine[], format: Format) =>
    html`<hone-chart
      .heading=${name}
      sync="run"
      .steps=${series.steps}
      .lines=${lines}
      .format=${format}
      .revision=${series.version}
    ></hone-chart>`;
  const measured = [...new Set([...series.extras.keys(), ...series.evaluated.keys()])].filter(
    (key) => key !== 'eval_loss',
  );
  return html`<div class="charts">
    <div class="chart-wide">${lossChart(series, { sync: 'run', log })}</div>
    ${measured.map((key) => {
      const [trained, evaluated] = [series.extras.get(key), series.evaluated.get(key)];
      return chart(
        metricName(key),
        [
          ...(trained === undefined ? [] : [joinable('Training', '--line-3', trained)]),
          ...(evaluated === undefined ? [] : [evaluation(evaluated)]),
        ],
        (value) => metricText(key, value),
      );
    })}
    ${singles
      .filter(({ column }) => series.filled.has(column))
      .map(({ column, name, colour, format, gaps }) =>
        chart(name, [{ label: name, colour, values: series.columns[column], joined: gaps ?? false }], format),
      )}
  </div>`;
}

const metricNames: Readonly<Record<string, string>> = {
  final_loss: 'Final loss',
  eval_loss: 'Evaluation loss',
  rouge1: 'ROUGE-1',
  rouge2: 'ROUGE-2',
  rougeL: 'ROUGE-L',
  f1: 'F1',
  kl: 'KL divergence',
};

/** A metric's display name. */
export function metricName(key: string): string {
  const words = key.replaceAll('_', ' ').replace('/', ': ');
  return metricNames[key] ?? `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Fractions, shown in percent. */
const shares = ['mean_token_accuracy', 'rewards/accuracies', 'accuracy', 'reward_accuracy'];

/** A metric's formatted value. */
export function metricText(key: string, value: number | null | undefined): string {
  return shares.includes(key) && value != null ? `${formatNumber(100 * value, 4)} %` : formatNumber(value);
}

/** The final metrics of a run or a model, side by side. */
export function metricFigures(
  metrics: Readonly<Record<string, number | null>> | null | undefined,
): TemplateResult | typeof nothing {
  const entries = Object.entries(metrics ?? {});
  if (entries.length === 0) return nothing;
  return html`<dl class="figures-grid fluid">
    ${entries.map(([key, value]) => figure(metricName(key), metricText(key, value)))}
  </dl>`;
}
