import * as v from 'valibot';
import {
  accessModes,
  type BudgetFigure,
  budgetFigureNames,
  keyNamePattern,
  keyNameRule,
  keyScopeNames,
} from '../../../contract/access.ts';
import { notList } from '../common.ts';

const figure = v.exactOptional(
  v.pipe(v.number(), v.gtValue(0, 'must be greater than 0'), v.finite('must be a finite number')),
);
const figures = <S>(schema: S) =>
  Object.fromEntries(budgetFigureNames.map((name) => [name, schema])) as Record<BudgetFigure, S>;

export const keyBody = v.strictObject({
  name: v.pipe(v.string(), v.trim(), v.regex(keyNamePattern, keyNameRule)),
  scope: v.optional(v.picklist(keyScopeNames, `must be one of ${keyScopeNames.join(', ')}`), 'full'),
  /** Only of the scope `train`, which needs one. */
  budget: v.optional(v.intersect([v.strictObject(figures(figure)), notList])),
  /** Keeps the answers to its requests. */
  recording: v.optional(v.boolean(), false),
});
export const recordingBody = v.strictObject({ recording: v.boolean() });
export const key = v.object({
  /** The public part of the key. */
  id: v.string(),
  name: v.string(),
  scope: v.picklist(keyScopeNames),
  budget: v.nullable(v.object(figures(figure))),
  /** What it has used of its budget. */
  used: v.nullable(v.object(figures(v.number()))),
  /** Whether the answers to its requests are kept, unless one says `store: false`. */
  recording: v.boolean(),
  created_at: v.string(),
  /** To the minute; `null` before the first use. */
  last_used_at: v.nullable(v.string()),
});
export const keys = v.object({ keys: v.array(key) });
/** With the key itself, which is not stored. */
export const newKey = v.object({ ...key.entries, key: v.string() });

export const signInBody = v.strictObject({
  key: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
});
export const accessSession = v.object({
  /** Who needs a key. */
  access: v.picklist(accessModes),
  /** Whether the service listens on an address that other machines can reach. */
  reachable: v.boolean(),
  /** Whether this client needs a key. */
  key_needed: v.boolean(),
  signed_in: v.boolean(),
  /** The name and scope of the key that this client presented. */
  key_name: v.nullable(v.string()),
  scope: v.nullable(v.picklist(keyScopeNames)),
});
