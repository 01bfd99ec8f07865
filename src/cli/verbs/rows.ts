import { startBar } from '../../client/bar.ts';
import { poll } from '../../client/follow-run.ts';
import type { Command } from '../command.ts';
import { note, print, printJson } from '../output.ts';

interface MakingView {
  readonly id: string;
  readonly state: string;
  readonly error: string | null;
  readonly sources: number;
  readonly answered: number;
  readonly request: { readonly max_rows: number };
  readonly rows: { readonly training: number; readonly validation: number };
  readonly dropped: Readonly<Record<string, number>>;
  readonly useless: Readonly<Record<string, number>>;
  readonly tokens: { readonly prompt: number; readonly answer: number; readonly grading: number };
  readonly datasets: { readonly training: string | null; readonly validation: string | null };
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((all, one) => all + one, 0);

export const rows: Command = {
  name: 'rows',
  about:
    'Makes a dataset of documents (PDF, DOCX, HTML, Markdown, text), or variants of its rows, with a model.',
  operands: ['[FILE…]'],
  examples: [
    'hone rows handbook.pdf terms.docx --name handbook --model base:Qwen/Qwen3-4B',
    'hone rows handbook.pdf --name labels --kind classification --labels invoice,contract --model gpt',
    'hone rows --name handbook-hard --kind harder --dataset handbook.jsonl --model gpt',
  ],
  given: ['documents'],
  flags: {},
  async run({ operands, fields, json, connect }) {
    const { client } = await connect();
    const documents: string[] = [];
    for (const file of operands) documents.push((await client.addDocument(file)).id);
    const body = { kind: 'question-answer', ...fields, documents: operands.length === 0 ? null : documents };
    const { id } = await client.post<MakingView>('/api/document_rows', body);
    const bar = startBar('Making rows', process.stderr);
    const ended = await poll(
      () => client.get<MakingView>(`/api/document_rows/${id}`),
      ({ state, answered, sources, rows: made, request, tokens }) => {
        const share = Math.max(answered / sources, (made.training + made.validation) / request.max_rows);
        bar.update(Math.min(1, share), `${made.training + made.validation} rows, ${sum(tokens)} tokens`);
        return state !== 'queued' && state !== 'running';
      },
    );
    bar.end(ended.state);
    if (json) printJson(ended);
    const { training, validation } = ended.rows;
    note(
      `${training} rows, ${validation} for validation; ${sum(ended.dropped)} dropped, ${sum(ended.useless)} answers without rows.`,
    );
    if (ended.error !== null) note(ended.error);
    const names = [ended.datasets.training, ended.datasets.validation].filter((name) => name !== null);
    if (!json) for (const name of names) print(name);
    return ended.state === 'completed' ? 0 : 1;
  },
};
