import { asTable, toMinutes } from '../../client/as-table.ts';
import type { JobView } from '../../client/follow-run.ts';
import type { Command } from '../command.ts';
import type { ModelView } from '../find-model.ts';
import { printJson, withQuery, write } from '../output.ts';

interface DatasetView {
  readonly filename: string;
  readonly num_examples: number;
  readonly size_mb: number;
  readonly uploaded_at: string;
  readonly shape: string | null;
}
type RunView = JobView & {
  readonly display_name: string;
  readonly model_name: string;
  readonly created_at: string;
};

const decimals = (value: number | null | undefined) => (value == null ? '–' : value.toFixed(3));

/** A command that prints a list of the service. */
function list<T>(
  command: Omit<Command, 'run' | 'operands' | 'flags'>,
  { path, key, head, row }: { path: string; key: string; head: string[]; row: (one: T) => string[] },
): Command {
  return {
    ...command,
    operands: [],
    flags: {},
    async run({ fields, json, connect }) {
      const { client } = await connect();
      const answer = await client.get<Record<string, T[]>>(withQuery(path, fields));
      if (json) printJson(answer);
      else write(asTable([head, ...(answer[key] ?? []).map(row)]));
      return 0;
    },
  };
}

export const models = list<ModelView>(
  {
    name: 'models',
    about: 'Lists the trained models, newest first.',
    examples: ['hone models', 'hone models --dataset support.jsonl --json'],
  },
  {
    path: '/api/catalog',
    key: 'models',
    head: ['ID', 'NAME', 'BASE MODEL', 'DATASET', 'LOSS', 'MB', 'CREATED'],
    row: (one) => [
      String(one.id),
      one.name,
      ...[one.base_model, one.dataset, decimals(one.eval_loss), one.size_mb.toFixed(1)],
      toMinutes(one.created_at),
    ],
  },
);

export const runs = list<RunView>(
  {
    name: 'runs',
    about: 'Lists the trainings, newest first.',
    renamed: { model_name: 'model' },
    examples: ['hone runs', 'hone runs --state running,queued', 'hone runs --sort=-gain --limit 5 --json'],
  },
  {
    path: '/api/jobs',
    key: 'jobs',
    head: ['RUN', 'STATE', 'DONE', 'LOSS', 'MODEL', 'CREATED', 'NAME'],
    row: (one) => [
      ...[one.job_id, one.state, `${Math.floor(one.progress)}%`, decimals(one.last_metric?.loss)],
      ...[one.model_name, toMinutes(one.created_at), one.display_name],
    ],
  },
);

export const datasets = list<DatasetView>(
  {
    name: 'datasets',
    about: 'Lists the stored datasets, newest first.',
    examples: ['hone datasets', 'hone datasets --json'],
  },
  {
    path: '/api/datasets',
    key: 'datasets',
    head: ['NAME', 'ROWS', 'SHAPE', 'MB', 'STORED'],
    row: (one) => [
      ...[one.filename, String(one.num_examples), one.shape ?? '–', one.size_mb.toFixed(2)],
      toMinutes(one.uploaded_at),
    ],
  },
);
