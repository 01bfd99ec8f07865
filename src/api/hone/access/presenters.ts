import type { AccessKey } from '../../../domain/access/access-keys.ts';
import type { Used } from '../../../domain/budgets/ledger.ts';

/** @param used by a key. */
export function presentKey(
  { id, name, scope, budget, recording, createdAt, lastUsedAt }: AccessKey,
  used: (id: string) => Used,
) {
  return {
    id,
    name,
    scope,
    budget,
    recording,
    used: budget === null ? null : used(id),
    created_at: createdAt,
    last_used_at: lastUsedAt,
  };
}
