import { html, nothing, type TemplateResult } from 'lit';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import { axes } from '../../charts/axis.ts';
import type { ChartLine, ChartX } from '../../charts/chart-data.ts';
import type { ChartGroup } from '../../charts/chart-group.ts';
import type { Mark } from '../../charts/marks.ts';
import {
  type Format,
  formatCount,
  formatMemory,
  formatNumber,
  formatPercent,
} from '../../elements/format.ts';
import { figure } from '../../elements/parts.ts';
import { chartOptions, xNames } from '../../state/runs/chart-options.ts';
import type { Run } from '../../state/runs/run.ts';
import type { Column, ColumnName, RunSeries } from '../../state/runs/series.ts';
import { markLegend, runMarks } from './run-marks.ts';

const short: Format = (value, digits = 3) => formatNumber(value, digits);
const percent: Format = (value, digits) => formatPercent(value == null ? null : value / 100, digits);
const watts: Format = (value, digits = 3) => (value == null ? '–' : `${formatNumber(value, digits)} W`);
/** A rate that is usually a large number. */
const rate: Format = (value, digits) =>
  digits === undefined || Number.isInteger(value) ? formatCount(value) : formatNumber(value, digits);

interface Single {
  readonly column: ColumnName;
  readonly name: string;
  readonly colour: string;
  readonly format: Format;
  /** Steps shorter than the sampling interval have no value. */
  readonly gaps?: boolean;
  /** Not measured, or nearly constant. */
  readonly exact?: boolean;
}

/** Charts of one line each. */
export const singles: readonly Single[] = [
  { column: 'learning_rate', name: 'Learning rate', colour: '--line-2', format: short, exact: true },
  { column: 'grad_norm', name: 'Gradient norm', colour: '--line-3', format: short },
  { column: 'tokens_per_second', name: 'Tokens per second', colour: '--line-4', format: rate },
  { column: 'memory_bytes', name: 'Trainer memory', colour: '--line-5', format: formatMemory, exact: true },
  { column: 'gpu_percent', name: 'GPU utilization', colour: '--line-1', format: percent, gaps: true },
  {
    column: 'gpu_memory_bytes',
    name: 'GPU memory in use',
    colour: '--line-5',
    format: formatMemory,
    gaps: true,
    exact: true,
  },
  { column: 'gpu_watts', name: 'GPU power', colour: '--line-2', format: watts, gaps: true },
  { column: 'cpu_percent', name: 'CPU utilization', colour: '--line-4', format: percent, gaps: true },
];

const joinable = (label: string, colour: string, values: Column): ChartLine => ({
  label,
  colour,
  values,
  joined: true,
  smooth: true,
});
const evaluation = (values: Column): ChartLine => ({
  label: 'Evaluation',
  colour: '--line-2',
  values,
  sparse: true,
});

/** The x axes of a run, that which the viewer has chosen first. */
function xsOf(series: RunSeries): ChartX[] {
  const { x } = chartOptions.value;
  return [x, ...xNames.filter((name) => name !== x)].map((name) => ({
    axis: axes[name],
    values: series.xs(name),
  }));
}

/** What the charts of a run have in common. */
interface Shared {
  readonly group: ChartGroup | null;
  readonly marks: readonly Mark[];
}

function chartOf(
  series: RunSeries,
  heading: string,
  lines: readonly ChartLine[],
  format: Format,
  { group, marks }: Shared,
): TemplateResult {
  const { log, smoothing, all } = chartOptions.value;
  return html`<hone-chart
    .heading=${heading}
    .xs=${xsOf(series)}
    .lines=${lines}
    .format=${format}
    .group=${group}
    .marks=${marks}
    .log=${log}
    .robust=${!all}
    .smoothing=${smoothing}
    .revision=${series.version}
    .rewritten=${series.rewritten}
  ></hone-chart>`;
}

/** The loss of a run, in training and evaluated. */
export function lossChart(series: RunSeries, shared: Shared = { group: null, marks: [] }): TemplateResult {
  const evaluated = series.evaluated.get('eval_loss');
  const lines: readonly ChartLine[] = [
    { label: 'Training', colour: '--line-1', values: series.columns.loss, smooth: true, filled: true },
    ...(evaluated === undefined ? [] : [evaluation(evaluated)]),
  ];
  return chartOf(series, 'Loss', lines, formatNumber, shared);
}

/** All charts of one run, without the empty ones. */
export function runCharts(run: Run, group: ChartGroup): TemplateResult {
  const { series } = run;
  const shared = { group, marks: runMarks(run) };
  const chart = (name: string, lines: readonly ChartLine[], format: Format) =>
    chartOf(series, name, lines, format, shared);
  const measured = [...new Set([...series.extras.keys(), ...series.evaluated.keys()])].filter(
    (key) => key !== 'eval_loss',
  );
  return html`${markLegend(shared.marks)}<div class="charts">
    <div class="chart-wide">${lossChart(series, shared)}</div>
    ${measured.map((key) => {
      const [trained, evaluated] = [series.extras.get(key), series.evaluated.get(key)];
      return chart(
        metricName(key),
        [
          ...(trained === undefined ? [] : [joinable('Training', '--line-3', trained)]),
          ...(evaluated === undefined ? [] : [evaluation(evaluated)]),
        ],
        (value, digits) => metricText(key, value, digits),
      );
    })}
    ${singles
      .filter(({ column }) => series.filled.has(column))
      .map(({ column, name, colour, format, gaps, exact }) => {
        const values = series.columns[column];
        return chart(name, [{ label: name, colour, values, joined: gaps ?? false, smooth: !exact }], format);
      })}
  </div>`;
}

/** Fractions, shown in percent. */
const shares = ['mean_token_accuracy', 'rewards/accuracies', 'accuracy', 'reward_accuracy'];

/** A metric's formatted value. */
export function metricText(key: string, value: number | null | undefined, digits = 3): string {
  return shares.includes(key) && value != null ? formatPercent(value, digits) : formatNumber(value, digits);
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
