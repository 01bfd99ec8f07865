import type { noChange, nothing, TemplateResult } from 'lit';
import { repeat } from 'lit/directives/repeat.js';

interface Children extends Iterable<Child> {}
/**
 * What renders to sense between tags: text, numbers, templates, and any of these in a row. What a directive gives
 * has no type of its own in Lit; `keyedRow` is the only one that is used here.
 */
export type Child = string | number | TemplateResult | typeof nothing | typeof noChange | Children;

/** A row of templates whose elements stay with their items when these change places. */
export function keyedRow<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string | number,
  template: (item: T) => Child,
): Child {
  return repeat(items, keyOf, template) as Child;
}
