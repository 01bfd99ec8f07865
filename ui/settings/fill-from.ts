import { draft, mergesAdapter } from '../state/drafts/draft.ts';
import { draftOrigin } from '../state/drafts/draft-origin.ts';
import { fillDraft } from './draft-request.ts';
import type { SettingsRequest } from './settings-file.ts';

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

/** Fills the training form with the request of a run or of a file, and says so above it. */
export function fillFrom(request: SettingsRequest, name: string, path: string | null): void {
  // What a file leaves out stays as the form has it.
  const { merge_adapter: merges, ...form } = baseOfForm();
  const kept = request.model_name === undefined ? { merge_adapter: merges } : {};
  fillDraft({ ...form, ...kept, ...request });
  draftOrigin.set({
    name,
    path,
    dataset: draft.value.dataset,
    validationDataset: textOf(request.validation_dataset),
  });
}

/** The parts of a request that a form always has. */
function baseOfForm(): SettingsRequest {
  const { task, model, dataset, provider, strategy } = draft.value;
  return {
    task,
    model_name: model,
    dataset,
    provider,
    strategy,
    merge_adapter: mergesAdapter(draft.value),
  };
}
