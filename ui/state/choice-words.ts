import { type RowShape, rowShapes } from '../../src/contract/rows.ts';
import { choices } from './app.ts';
import type { Draft } from './drafts/draft.ts';

/** Words for what can be chosen, as the trainer tells them; until it has, the names themselves. */

const taskOf = (name: string) => choices.value.value?.tasks.find((task) => task.name === name);
const strategyOf = (name: string) =>
  choices.value.value?.strategies.find((strategy) => strategy.name === name);

export const taskName = (name: string) => taskOf(name)?.label ?? name;
/** A strategy's display name. */
export const strategyName = (name: string) => strategyOf(name)?.label ?? name;

/** Whether a strategy trains a task. */
export const trains = (strategy: string, task: string) => strategyOf(strategy)?.tasks.includes(task) ?? true;

/** The shapes that rows may have for a task and a strategy; `null` until the trainer has told them. */
export function shapesFor({ task, strategy }: Pick<Draft, 'task' | 'strategy'>): readonly RowShape[] | null {
  const own = strategyOf(strategy)?.row_shape;
  return own == null ? (taskOf(task)?.row_shapes ?? null) : [own];
}

/** The fields of a shape, in words. */
export const shapeFields = (shape: string) => rowShapes[shape as RowShape]?.join(', ') ?? shape;

/** The fields of several shapes, in words. */
export const shapesFields = (shapes: readonly RowShape[]) => shapes.map(shapeFields).join(', or ');
