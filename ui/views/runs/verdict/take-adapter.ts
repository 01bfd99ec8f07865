import { service } from '../../../api/service.ts';
import type { JobDetail } from '../../../api/types.ts';
import { toasts } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';

/** A strength of a run's adapter, and the checkpoint that it is from, if any. */
export type Chosen = NonNullable<NonNullable<JobDetail['export']>['chosen']>;

/** Makes the files of a run's model of a choice; its progress is shown where exports are. */
export async function takeAdapter(
  event: Event,
  { model_id: modelId }: JobDetail,
  { strength, checkpoint }: Chosen,
): Promise<void> {
  const button = event.currentTarget as HTMLButtonElement;
  button.disabled = true;
  try {
    await service.exportModel(modelId, checkpoint === null ? { strength } : { strength, checkpoint });
    document.querySelector('hone-model-export')?.scrollIntoView({ block: 'nearest' });
  } catch (error) {
    toasts.show(asServiceError(error).message, 'error');
  } finally {
    button.disabled = false;
  }
}
