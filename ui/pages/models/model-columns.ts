import { html } from 'lit';
import type { Model } from '../../api/types.ts';
import { formatBytes, formatMoment, formatNumber, formatPercent } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { tagList } from '../../views/identity.ts';
import { gainColumn, scoreColumn, scoresView } from '../../views/lists/gain-column.ts';
import type { ListColumn } from '../../views/lists/list-tools.ts';

/** A column of the list of models. */
export interface ModelColumn extends ListColumn<Model> {
  /** What the list is ordered by; `null` is unknown, and last. */
  readonly by: (model: Model) => string | number | null;
}

const text = { right: false, usual: true, spare: '' } as const;
const number = { right: true, usual: true, spare: '' } as const;

/** The columns that the list of models can have. */
export const modelColumns: readonly ModelColumn[] = [
  {
    ...text,
    key: 'base',
    name: 'Base model',
    spare: 'spare',
    of: ({ base_model }) => nameText(base_model),
    by: ({ base_model }) => base_model.toLowerCase(),
  },
  {
    ...text,
    key: 'tags',
    name: 'Tags',
    spare: 'spare',
    of: ({ tags }) => tagList(tags),
    by: ({ tags }) => tags.join(',').toLowerCase() || null,
  },
  {
    ...text,
    key: 'task',
    name: 'Task',
    spare: 'spare-narrow',
    of: ({ task }) => taskName(task),
    by: ({ task }) => task,
  },
  {
    ...text,
    key: 'strategy',
    name: 'Strategy',
    spare: 'spare',
    of: ({ strategy }) => strategyName(strategy),
    by: ({ strategy }) => strategy,
  },
  {
    ...number,
    key: 'eval_loss',
    name: 'Eval loss',
    spare: 'spare',
    of: ({ eval_loss }) => formatNumber(eval_loss),
    by: ({ eval_loss }) => eval_loss,
  },
  {
    ...number,
    ...gainColumn,
    of: ({ gain }) => formatPercent(gain),
    by: ({ gain }) => gain,
  },
  {
    ...number,
    ...scoreColumn,
    of: ({ scores }) => scoresView(scores),
    by: ({ scores }) => Object.values(scores)[0] ?? null,
  },
  {
    ...number,
    key: 'size',
    name: 'Size',
    of: ({ size_mb }) => formatBytes(size_mb * 1e6),
    by: ({ size_mb }) => size_mb,
  },
  {
    ...number,
    key: 'created',
    name: 'Created',
    spare: 'spare',
    of: ({ created_at }) => formatMoment(created_at),
    by: ({ created_at }) => created_at,
  },
  {
    ...text,
    usual: false,
    key: 'dataset',
    name: 'Dataset',
    of: ({ dataset }) => nameText(dataset),
    by: ({ dataset }) => dataset.toLowerCase(),
  },
  {
    ...text,
    usual: false,
    key: 'run',
    name: 'Run',
    of: ({ job_id }) => (job_id === null ? '–' : html`<a href="/training/${job_id}">${job_id}</a>`),
    by: ({ job_id }) => Number(job_id?.split('_')[1] ?? 0),
  },
  {
    ...text,
    usual: false,
    key: 'notes',
    name: 'Notes',
    of: ({ notes }) => html`<span class="cut" dir="auto">${notes}</span>`,
    by: ({ notes }) => notes.toLowerCase() || null,
  },
];
