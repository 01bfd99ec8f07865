import type { ChartData } from './chart-data.ts';
import { type OwnLine, overlaid } from './overlay.ts';

type Saved = Omit<ChartData, 'format'>;

/** Signs with which a spreadsheet takes a text for a formula (OWASP, CSV injection). */
const formulaSigns = /^[=+\-@\t\r]/;

/** A text as a field of a CSV file (RFC 4180) that no spreadsheet computes. */
function field(text: string): string {
  const plain = formulaSigns.test(text) ? `'${text}` : text;
  return `"${plain.replaceAll('"', '""')}"`;
}

/**
 * The values of charts as CSV, as measured and not smoothed. A row for each place on the x axis; further x axes have
 * columns if all charts have the same points.
 */
export function chartCsv(charts: readonly Saved[]): string {
  const [first] = charts;
  if (first === undefined) return '';
  const x = (chart: Saved) => chart.xs[0]?.values ?? [];
  const others = charts.every((chart) => x(chart) === x(first)) ? first.xs.slice(1) : [];
  const columns: { readonly name: string; readonly line: OwnLine }[] = [
    ...others.map(({ axis, values }) => ({ name: axis.column, line: { x: x(first), values } })),
    ...charts.flatMap((chart) =>
      chart.lines.map(({ label, values }) => ({
        name:
          charts.length === 1 || label === chart.heading ? field(label) : field(`${chart.heading}: ${label}`),
        line: { x: x(chart), values },
      })),
    ),
  ];
  const { x: places, values } = overlaid(columns.map(({ line }) => line));
  const head = [first.xs[0]?.axis.column ?? '', ...columns.map(({ name }) => name)].join(',');
  const rows = places.map((place, row) => [place, ...values.map((column) => column[row] ?? '')].join(','));
  return `${[head, ...rows].join('\r\n')}\r\n`;
}
