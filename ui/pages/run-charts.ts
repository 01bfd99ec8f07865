import { html, nothing, type TemplateResult } from 'lit';
import type { ChartLine } from '../elements/chart.ts';
import { formatBytes, formatCount, formatNumber } from '../format.ts';
import type { RunSeries } from '../state/series.ts';

/** Loss as it came, and smoothed. */
export function lossLines(series: RunSeries): readonly ChartLine[] {
  return [
    { label: 'Loss', colour: '--line-1', values: series.columns.loss, faint: true },
    { label: 'Smoothed', colour: '--line-1', values: series.smoothed },
  ];
}

/** Every chart of one run; those without a value are left out. */
export function runCharts(series: RunSeries): TemplateResult {
  const { columns, steps } = series;
  const revision = `${steps.length} ${series.weight} ${steps.at(-1)} ${columns.loss.at(-1)}`;
  const chart = (
    heading: string,
    lines: readonly ChartLine[],
    format: (value: number | null | undefined) => string = formatNumber,
  ) =>
    html`<hone-chart
      .heading=${heading}
      sync="run"
      .steps=${steps}
      .lines=${lines}
      .format=${format}
      .revision=${revision}
    ></hone-chart>`;
  const one = (label: string, colour: string, values: ChartLine['values']) => [{ label, colour, values }];
  const any = (values: ChartLine['values']) => values.some((value) => value !== null);
  return html`<div class="charts">
    <div class="chart-wide">${chart('Loss', lossLines(series))}</div>
    ${evalCharts(series)}
    ${chart('Learning rate', one('Learning rate', '--line-2', columns.learning_rate), (v) => formatNumber(v, 3))}
    ${chart('Gradient norm', one('Gradient norm', '--line-3', columns.grad_norm), (v) => formatNumber(v, 3))}
    ${chart('Tokens per second', one('Tokens/s', '--line-4', columns.tokens_per_second), formatCount)}
    ${any(columns.memory_bytes) ? chart('Memory', one('Memory', '--line-5', columns.memory_bytes), formatBytes) : nothing}
  </div>`;
}

const metricNames: Readonly<Record<string, string>> = {
  eval_loss: 'Evaluation loss',
  perplexity: 'Perplexity',
  rouge1: 'ROUGE-1',
  rouge2: 'ROUGE-2',
  rougeL: 'ROUGE-L',
  exact_match: 'Exact match',
  f1: 'F1',
};
export const metricName = (key: string) => metricNames[key] ?? key.replaceAll('_', ' ');

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
