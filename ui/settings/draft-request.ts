import { trackerNames } from '../../src/contract/training/trackers.ts';
import type { FieldFault } from '../api/request.ts';
import type { TrainingBody } from '../api/service.ts';
import { datasets } from '../state/app.ts';
import { shapeFields, shapesFields, shapesFor } from '../state/choice-words.ts';
import { type Draft, draft, mergesAdapter } from '../state/drafts/draft.ts';
import { draftOrigin } from '../state/drafts/draft-origin.ts';
import { formDefaults } from './form-defaults.ts';
import { readSetting, readSettings, settingField, settingTexts } from './setting-values.ts';

/** The training request that the form describes. */
export function draftRequest(): TrainingBody {
  const { task, model, dataset, validationDataset, provider, strategy, quantizations } = draft.value;
  const { reportTo, project } = draft.value;
  const { eval_split, ...settings } = { ...formDefaults(), ...readSettings(draft.value) };
  return {
    ...settings,
    // They exclude each other.
    eval_split: validationDataset === '' ? eval_split : undefined,
    validation_dataset: validationDataset || undefined,
    task,
    model_name: model.trim(),
    merge_adapter: mergesAdapter(draft.value) || undefined,
    dataset,
    provider,
    strategy,
    export:
      quantizations === null
        ? undefined
        : quantizations.length === 0
          ? 'none'
          : { quantizations: [...quantizations] },
    report_to: reportTo.length === 0 ? undefined : [...reportTo],
    project: (reportTo.length > 0 && project.trim()) || undefined,
  };
}

/** The settings of the form that cannot be read. */
export function draftFaults(): FieldFault[] {
  return Object.entries(draft.value.settings).flatMap(([name, text]) => {
    if (name === 'eval_split' && draft.value.validationDataset !== '') return [];
    const field = settingField(name, draft.value.strategy, draft.value.settings.adapter);
    const read = field === undefined ? null : readSetting(field, text);
    return read !== null && 'fault' in read ? [{ field: name, message: read.fault }] : [];
  });
}

/** What the form lacks besides its settings; `null` if it has all. */
export function draftMissing(): string | null {
  const { model, dataset } = draft.value;
  if (dataset === '') return 'Choose a dataset.';
  if (model.trim() === '') return 'Choose a model.';
  const known = datasets.value.value?.find(({ filename }) => filename === dataset);
  const wanted = shapesFor(draft.value);
  if (known?.valid === false) return 'The dataset has errors. Fix it or choose another one.';
  const shape = known?.shape ?? null;
  if (shape !== null && wanted !== null && !wanted.some((one) => one === shape)) {
    return `This task and strategy need the fields ${shapesFields(wanted)}, but the dataset has ${shapeFields(shape)}.`;
  }
  return null;
}

/** Fills the training form with a request. */
export function fillDraft(request: Readonly<Record<string, unknown>>): void {
  const text = (name: string, fallback = '') =>
    typeof request[name] === 'string' ? (request[name] as string) : fallback;
  const strategy = text('strategy', 'sft');
  draftOrigin.set(null);
  draft.change({
    task: text('task'),
    model: text('model_name'),
    custom: true,
    mergeFor: request.merge_adapter === true ? text('model_name') : '',
    dataset: text('dataset'),
    fittedTo: text('dataset'),
    validationDataset: text('validation_dataset'),
    provider: text('provider', 'standard'),
    strategy,
    preset: null,
    settings: settingTexts(request, strategy),
    quantizations: exportedTypes(request.export),
    reportTo: trackerNames.filter((name) =>
      (request.report_to as unknown[] | null | undefined)?.includes(name),
    ),
    project: text('project'),
  });
}

function exportedTypes(value: unknown): Draft['quantizations'] {
  if (value === 'none') return [];
  return (value as { quantizations?: Draft['quantizations'] } | null | undefined)?.quantizations ?? null;
}
