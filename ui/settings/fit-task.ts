import type { Choices } from '../api/types.ts';
import { choices, datasets } from '../state/app.ts';
import { shapesFor, trains } from '../state/choice-words.ts';
import { draft } from '../state/drafts/draft.ts';

/** Chooses a task, and the strategy where the present one does not train it. */
export function chooseTask(task: string, strategy?: string): void {
  const { custom, model, strategy: present, task: before } = draft.value;
  draft.change({
    task,
    // The list of models is that of the task.
    model: custom || task === before ? model : '',
    strategy: strategy ?? (trains(present, task) ? present : 'sft'),
  });
}

/** Chooses the task by the fields of the dataset, once for each dataset: another task may then be meant. */
export function fitDataset(): void {
  const { dataset, fittedTo } = draft.value;
  const shape = datasets.value.value?.find(({ filename }) => filename === dataset)?.shape;
  if (dataset === fittedTo || shape === undefined || choices.value.value === null) return;
  draft.change({ fittedTo: dataset });
  if (shape !== null) fitTask(shape);
}

/** Chooses a task for rows of a shape, unless the present one takes them. */
function fitTask(shape: string): void {
  const told = choices.value.value;
  const fits = shapesFor(draft.value)?.some((one) => one === shape) ?? true;
  if (told === null || fits) return;
  const found = taskOf(shape, told);
  if (found !== null) chooseTask(found.task, found.strategy);
}

/** The first task that takes rows of a shape, or the first strategy that does. */
function taskOf(
  shape: string,
  { tasks, strategies }: Choices,
): { readonly task: string; readonly strategy: string } | null {
  const task = tasks.find(({ row_shapes }) => row_shapes.some((one) => one === shape));
  if (task !== undefined) return { task: task.name, strategy: 'sft' };
  const strategy = strategies.find(({ row_shape }) => row_shape === shape);
  const first = strategy?.tasks[0];
  return strategy === undefined || first === undefined ? null : { task: first, strategy: strategy.name };
}
