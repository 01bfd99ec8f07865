import { html } from 'lit';
import { scoresOf } from '../../../src/contract/evaluations.ts';
import type { RunOrder } from '../../../src/contract/jobs.ts';
import type { Job } from '../../api/types.ts';
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatNumber,
  formatPercent,
  jobSeconds,
} from '../../elements/format.ts';
import { modelName, nameText, stateBadge } from '../../elements/parts.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { tagList } from '../../views/identity.ts';
import { gainColumn, scoreColumn, scoresView } from '../../views/lists/gain-column.ts';
import type { ListColumn } from '../../views/lists/list-tools.ts';

const text = { right: false, usual: true, spare: '' } as const;
const number = { right: true, usual: true, spare: 'spare' } as const;

/** The columns that the list of runs can have. */
export const runColumns: readonly (ListColumn<Job> & { readonly key: RunOrder })[] = [
  {
    ...text,
    key: 'data',
    name: 'Model and dataset',
    spare: 'spare-narrow',
    of: (job) =>
      html`<span class="two-lines">${modelName(job.model_name)}<small class="muted">${nameText(job.dataset)}</small></span>`,
  },
  { ...text, key: 'tags', name: 'Tags', spare: 'spare', of: (job) => tagList(job.tags) },
  { ...text, key: 'state', name: 'State', of: (job) => stateBadge(job.state) },
  { ...number, key: 'steps', name: 'Steps', of: (job) => formatCount(job.last_metric?.step) },
  {
    ...number,
    key: 'loss',
    name: 'Loss',
    spare: 'spare-narrow',
    of: (job) => formatNumber(job.metrics?.final_loss ?? job.last_metric?.loss),
  },
  { ...number, key: 'eval_loss', name: 'Eval loss', of: (job) => formatNumber(job.metrics?.eval_loss) },
  {
    ...number,
    ...gainColumn,
    of: (job) => formatPercent(job.gain),
  },
  { ...number, ...scoreColumn, of: (job) => scoresView(scoresOf(job.metrics ?? {})) },
  {
    ...number,
    key: 'duration',
    name: 'Duration',
    of: (job) => formatDuration(jobSeconds(job)),
  },
  { ...number, key: 'created', name: 'Created', of: (job) => formatMoment(job.created_at) },
  { ...text, usual: false, key: 'task', name: 'Task', of: (job) => taskName(job.task) },
  { ...text, usual: false, key: 'strategy', name: 'Strategy', of: (job) => strategyName(job.strategy) },
  { ...text, usual: false, key: 'provider', name: 'Provider', of: (job) => job.provider },
  {
    ...text,
    usual: false,
    key: 'notes',
    name: 'Notes',
    of: (job) => html`<span class="cut" dir="auto">${job.notes}</span>`,
  },
];
