import type { JobDetail } from '../../api/types.ts';
import { formatPercent } from '../../elements/format.ts';
import type { RunFact } from '../../settings/settings-table.ts';
import { shapeFields } from '../../state/choice-words.ts';
import { targetName } from '../datasets/import-words.ts';

/** The datasets of a run, and what their rows are. */
export function runData({
  dataset,
  row_shape: shape,
  validation_dataset: validation,
  settings,
}: JobDetail): RunFact[] {
  const held = settings.eval_split;
  const part = typeof held === 'number' && held > 0 ? `${formatPercent(held)} of the dataset` : 'none';
  return [
    { name: 'dataset', label: 'Dataset', text: dataset },
    {
      name: 'row_shape',
      label: 'Rows',
      text: shape === null ? 'unknown' : `${targetName(shape)} (${shapeFields(shape)})`,
    },
    { name: 'validation_dataset', label: 'Validation dataset', text: validation ?? part },
  ];
}
