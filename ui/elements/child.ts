import type { noChange, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

interface Children extends Iterable<Child> {}
/**
 * What may stand between tags: text, numbers, templates, and iterables of these. Lit has no type for directive
 * results; `keyedRow` is the only directive used here.
 */
export type Child = string | number | TemplateResult | typeof nothing | typeof noChange | Children;

/** A list of templates whose elements stay with their items on reordering. */
export function keyedRow<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string | number,
  template: (item: T) => Child,
): Child {
  return repeat(items, keyOf, template) as Child;
}
