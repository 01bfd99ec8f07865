import { isPrepared } from '../../trainer/evaluate.ts';
import { findTrainer, killTrainer } from '../../trainer/processes/supervisor.ts';
import type { EvaluationRecords } from './evaluation-records.ts';

/** Fails those that were running, or being prepared, when the service was killed. */
export async function recoverEvaluations(records: EvaluationRecords): Promise<void> {
  for (const { id, state } of records.list()) {
    const folder = records.folderOf(id);
    if (state === 'running') {
      const left = await findTrainer(folder, null);
      if (left !== null) await killTrainer(left, 0);
      const error = 'The service was killed while it ran. Start it again.';
      await records.end(id, { kind: 'failed', error });
    } else if (state === 'queued' && !isPrepared(folder)) {
      const error = 'The service ended before it could be prepared. Start it again.';
      await records.end(id, { kind: 'failed', error });
    }
  }
  await records.tidy();
}
