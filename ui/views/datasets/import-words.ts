import { html, type TemplateResult } from 'lit';
import { minimumRows, type RowShape } from '../../../src/contract/rows.ts';
import type { Import } from '../../api/types.ts';
import { formatBytes } from '../../elements/format.ts';

const containers: Readonly<Record<string, string>> = {
  jsonl: 'JSONL',
  json: 'JSON',
  csv: 'CSV',
  tsv: 'TSV',
  parquet: 'Parquet',
  arrow: 'Arrow',
};

const shapes: Readonly<Record<string, string>> = {
  alpaca: 'Alpaca rows',
  sharegpt: 'ShareGPT conversations',
  'prompt-completion': 'prompts with completions',
  'openai-chat': 'OpenAI conversations',
  'openai-preference': 'OpenAI preferences',
  'openai-prompts': 'OpenAI prompts',
  messages: 'conversations',
  'input-output': 'inputs with outputs',
  'question-answer': 'questions with answers in a context',
  preference: 'preferences',
  'unpaired-preference': 'answers labelled good or bad',
  text: 'plain text',
  prompt: 'prompts',
};

const targets: Readonly<Record<RowShape, string>> = {
  'input-output': 'Inputs with outputs',
  'question-answer': 'Questions answered from a context',
  preference: 'Preferences',
  'unpaired-preference': 'Answers labelled good or bad',
  messages: 'Conversations',
  text: 'Plain text',
  prompt: 'Prompts, for graders',
};

/** A row shape as a choice. */
export const targetName = (shape: string) => targets[shape as RowShape] ?? shape;

/** The detected shape in words; `null` where columns are mapped. */
export const detectedName = (shape: string | null) =>
  shape === null || shape === 'columns' ? null : (shapes[shape] ?? shape);

/** A source's format and size. */
export function detectedFile(container: string | null, compression: string | null, bytes: number): string {
  const format = containers[container ?? ''] ?? container ?? 'Unknown format';
  return `${format}${compression === null ? '' : `, compressed with ${compression}`}${bytes > 0 ? `, ${formatBytes(bytes)}` : ''}.`;
}

/** What a row of a source is told by: its number, or its line. */
export const rowUnit = ({ unit }: Import) => (unit === 'row' ? 'Row' : 'Line');

/** What was detected, in one line. */
export function detectedLine(record: Import): string {
  const { container, compression, shape, columns, source, mapping, guessed } = record;
  const under = record.rows_at === null ? '' : ` Rows under the key "${record.rows_at}".`;
  const file = detectedFile(container, compression, source.size_bytes) + under;
  const count = columns.length === 1 ? '1 column' : `${columns.length} columns`;
  const detected = detectedName(shape);
  if (detected !== null) return `${file} Detected: ${detected} (${count}).`;
  return mapping === null
    ? `${file} ${count} of no known format: choose which to use.`
    : `${file} ${count}: ${guessed ? 'the ones used are guessed from their values, check them.' : 'check which are used.'}`;
}

const stateWords: Readonly<Record<Import['state'], string>> = {
  reading: 'Reading',
  proposed: 'Ready',
  running: 'Importing',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** Whether a source has fewer rows than a dataset must have. */
export const hasTooFewRows = ({ row_count: counted }: Import): boolean =>
  counted !== null && counted.is_exact && counted.rows < minimumRows;

/** A coloured badge with the state of an import. */
export function importBadge(record: Import): TemplateResult {
  const { state } = record;
  if (state !== 'proposed') return html`<span class="badge" data-state=${state}>${stateWords[state]}</span>`;
  return hasTooFewRows(record)
    ? html`<span class="badge" data-state="failed">Too few rows</span>`
    : html`<span class="badge" data-state="queued">${stateWords[state]}</span>`;
}

/** How much of a source is downloaded or read, in percent; `null` if that is not known. */
export function importShare({ state, source, progress }: Import): number | null {
  const { done_bytes: done, total_bytes: total } = progress;
  const isCounted = state === 'running' || (source.kind === 'hub' && done < total);
  return isCounted && total > 0 ? Math.min(100, (done / total) * 100) : null;
}
