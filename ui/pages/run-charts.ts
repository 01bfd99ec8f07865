import { html, nothing, type TemplateResult } from 'lit';
import type { ChartLine } from '../elements/chart.ts';
import { formatCount, formatMemory, formatNumber } from '../format.ts';
import type { ColumnName, RunSeries } from '../state/series.ts';

type Format = (value: number | null | undefined) => string;

const short: Format = (value) => formatNumber(value, 3);
const singles: readonly { readonly column: ColumnName; readonly name: string; readonly format: Format }[] = [
  { column: 'learning_rate', name: 'Learning rate', format: short },
  { column: 'grad_norm', name: 'Gradient norm', format: short },
  { column: 'tokens_per_second', name: 'Tokens per second', format: formatCount },
  { column: 'memory_bytes', name: 'Memory', format: formatMemory },
];

interface Lines {
  readonly loss: readonly ChartLine[];
  readonly singles: readonly (readonly ChartLine[])[];
}

/** The lines of a series are made once: they hold its growing arrays. */
const made = new WeakMap<RunSeries, Lines>();

function linesOf(series: RunSeries): Lines {
  let lines = made.get(series);
  if (lines === undefined) {
    lines = {
      loss: [
        { label: 'Raw', colour: '--line-1', values: series.columns.loss, faint: true },
        { label: 'Smoothed', colour: '--line-1', values: series.smoothed },
      ],
      singles: singles.map(({ column, name }, index) => [
        { label: name, colour: `--line-${index + 2}`, values: series.columns[column] },
      ]),
    };
    made.set(series, lines);
  }
  return lines;
}

/** The loss of a run, as it came and smoothed. */
export function lossChart(series: RunSeries, sync = ''): TemplateResult {
  return html`<hone-chart
    heading="Loss"
    .sync=${sync}
    .steps=${series.steps}
    .lines=${linesOf(series).loss}
    .revision=${series.version}
  ></hone-chart>`;
}

/** Every chart of one run; those without a value are left out. */
export function runCharts(series: RunSeries): TemplateResult {
  const lines = linesOf(series);
  return html`<div class="charts">
    <div class="chart-wide">${lossChart(series, 'run')}</div>
    ${evalCharts(series)}
    ${singles.map(({ column, name, format }, index) =>
      series.columns[column].some((value) => value !== null)
        ? html`<hone-chart
            .heading=${name}
            sync="run"
            .steps=${series.steps}
            .lines=${lines.singles[index] ?? []}
            .format=${format}
            .revision=${series.version}
          ></hone-chart>`
        : nothing,
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
};

/** A metric's name in words. */
export function metricName(key: string): string {
  const words = key.replaceAll('_', ' ');
  return metricNames[key] ?? `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function evalCharts(series: RunSeries): TemplateResult[] {
  const keys = [...new Set(series.evals.flatMap(({ metrics }) => Object.keys(metrics ?? {})))];
  const steps = series.evals.map(({ step }) => step);
  return keys.map((key) => {
    const values = series.evals.map(({ metrics }) => metrics?.[key] ?? null);
    const lines = [{ label: metricName(key), colour: '--line-6', values, sparse: true }];
    return html`<hone-chart
      .heading=${metricName(key)}
      .steps=${steps}
      .lines=${lines}
      .revision=${steps.length}
    ></hone-chart>`;
  });
}
