import type { Record } from './records.ts';
import type { Summary } from './statistics.ts';

/** Three significant digits, without an exponent. */
export function number(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 6));
}

const withSpread = (value: number, { runs, low, high }: Summary) =>
  runs < 2 ? number(value) : `${number(value)} [${number(low)}–${number(high)}]`;

/** A row for the terminal: the measured value with its quartiles, ratio and goal. */
export function line(record: Record, ours: Summary | null, theirs: Summary | null): string {
  const parts = [
    `${record.metric}: ${ours === null ? 'not measured' : `${withSpread(record.ours ?? ours.median, ours)} ${record.unit}`}`,
  ];
  if (record.peer !== null)
    parts.push(`${record.peer}: ${theirs === null ? 'not measured' : withSpread(theirs.median, theirs)}`);
  if (record.ratio !== null) parts.push(`ratio ${number(record.ratio)}`);
  if (record.goal !== null) parts.push(`goal ${record.goal}`);
  parts.push(verdict(record));
  return parts.filter((part) => part !== '').join('; ');
}

const verdict = ({ met }: Record) =>
  typeof met === 'string' ? met : met === null ? '' : met ? 'met' : 'NOT MET';

const header = [
  '| scenario | metric | ours | theirs | peer | ratio | goal | met |',
  '|---|---|---|---|---|---|---|---|',
];
const begin = '<!-- table: written by npm run bench -- --table -->';
const end = '<!-- end of table -->';

function row(record: Record): string {
  const value = (figure: number | null) => (figure === null ? '–' : `${number(figure)} ${record.unit}`);
  const cells = [
    record.scenario,
    record.metric,
    value(record.ours),
    value(record.theirs),
    record.peer ?? '–',
    record.ratio === null ? '–' : number(record.ratio),
    record.goal ?? '–',
    verdict(record) || '–',
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The page with its table updated by the records that have a goal; rows of scenarios that did not run are kept. */
export function withTable(page: string, records: readonly Record[]): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`bench/README.md lacks "${begin}" or "${end}"`);
  const fresh = new Set(records.map(({ scenario }) => scenario));
  const kept = page
    .slice(from + begin.length, to)
    .split('\n')
    .slice(header.length + 1)
    .filter((text) => text.startsWith('| ') && !fresh.has(text.split(' | ')[0]?.slice(2) as string));
  const rows = [...kept, ...records.filter(({ goal }) => goal !== null).map(row)].map((text, index) => ({
    text,
    index,
  }));
  rows.sort((a, b) => scenarioOf(a.text).localeCompare(scenarioOf(b.text)) || a.index - b.index);
  const table = [begin, ...header, ...rows.map(({ text }) => text), ''].join('\n');
  return page.slice(0, from) + table + page.slice(to);
}

const scenarioOf = (text: string) => text.split(' | ')[0] as string;
