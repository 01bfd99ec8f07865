import type { AccessKey } from '../../../domain/access/access-keys.ts';

export function presentKey({ id, name, scope, createdAt, lastUsedAt }: AccessKey) {
  return { id, name, scope, created_at: createdAt, last_used_at: lastUsedAt };
}
