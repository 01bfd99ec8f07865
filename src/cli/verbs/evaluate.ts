import { asTable } from '../../client/as-table.ts';
import { startBar } from '../../client/bar.ts';
import { poll } from '../../client/follow-run.ts';
import { figureLabel } from '../../contract/evaluations.ts';
import type { Command } from '../command.ts';
import { located } from '../flags.ts';
import { note, printJson, write } from '../output.ts';

interface EvaluationView {
  readonly evaluation_id: string;
  readonly state: string;
  readonly error: string | null;
  readonly progress: number | null;
  readonly detail: string | null;
  readonly figures: Readonly<Record<string, number | null>> | null;
}

export const evaluate: Command = {
  name: 'eval',
  about: 'Scores a dataset with a model, a checkpoint or a base model, and prints the figures.',
  operands: ['ROWS'],
  examples: [
    'hone eval validation.jsonl --model support-1',
    'hone eval validation.jsonl --base-model Qwen/Qwen3-0.6B --rows 100',
    'hone eval validation.jsonl --model support-1 --json',
  ],
  given: ['dataset'],
  flags: {},
  async run({ operands, fields, request, json, connect }) {
    const body: Record<string, unknown> = { ...fields, dataset: operands[0] };
    for (const name of request.paths) if (body[name] !== undefined) body[name] = located(body[name]);
    const { client } = await connect();
    const { evaluation_id: id } = await client.post<EvaluationView>('/api/evaluations', body);
    const bar = startBar('Scoring', process.stderr);
    const ended = await poll(
      () => client.get<EvaluationView>(`/api/evaluations/${id}`),
      ({ state, progress, detail }) => {
        bar.update(progress, detail ?? state);
        return state === 'completed' || state === 'failed';
      },
    );
    bar.end(ended.state);
    if (json) printJson(ended);
    if (ended.state === 'failed') {
      note(ended.error ?? 'The evaluation failed.');
      return 1;
    }
    const figures = Object.entries(ended.figures ?? {}).filter(([, value]) => value !== null);
    const rows = figures.map(([name, value]) => [figureLabel(name), String(value)]);
    if (!json) write(asTable(rows));
    return 0;
  },
};
