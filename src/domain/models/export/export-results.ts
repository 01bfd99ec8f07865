import { sep } from 'node:path';
import type { ExportOutcome } from '../../../contract/journal.ts';
import { type ExportForm, exportForms } from '../../../contract/models/export-forms.ts';
import { defaultQuantizations, type Quantization } from '../../../contract/models/quantizations.ts';
import { AppError, asAppError } from '../../../errors.ts';
import type { Exported } from '../../../trainer/reexport.ts';
import type { Model } from '../models.ts';
import type { Wanted } from './export-tasks.ts';

/** What an export has left of a model: what it made, and the files of earlier ones in other types. */
export function mergedOutcome(before: ExportOutcome, latest: ExportOutcome): ExportOutcome {
  const isAgain = (type: string) => latest.files.some(({ quantization }) => quantization === type);
  const { chosen = before.chosen } = latest;
  const formsBefore = before.forms?.filter(({ form }) => !latest.forms?.some((one) => one.form === form));
  const all = [...(formsBefore ?? []), ...(latest.forms ?? [])];
  const forms = all.length === 0 ? undefined : all;
  // The rest tells of types alone.
  if (latest.files.length === 0) return { ...before, chosen, forms };
  const kept = before.files.filter(({ state, quantization }) => state === 'done' && !isAgain(quantization));
  return { ...latest, chosen, files: [...kept, ...latest.files], forms };
}

/** Why an export has not made all that was asked for; `null` if it has. */
export function failureOf({ state, reason, advice, forms = [] }: ExportOutcome): string | null {
  const reasons = [
    ...(state === 'done' ? [] : [reason, advice]),
    ...forms.flatMap((form) => (form.state === 'done' ? [] : [form.reason])),
  ];
  return reasons.length === 0 ? null : reasons.filter(Boolean).join(' ');
}

/** What is asked for. */
export interface Asked extends Wanted {
  readonly types: readonly Quantization[];
}

/**
 * All that a choice makes anew, as what there is would be of another adapter; the default types where that is nothing. An
 * adapter as GGUF that nobody asks for is made with the types.
 */
export function withThere({ artifacts }: Model, asked: Asked): Asked {
  const there = artifacts.flatMap(({ kind, quantization }) => (kind === 'gguf' ? [quantization] : []));
  const types = [...new Set([...(there as Quantization[]), ...asked.types])];
  const isMade = (form: ExportForm) =>
    artifacts.some(({ kind }) => kind === form) && (form === 'merged' || types.length === 0);
  const forms = exportForms.filter((form) => asked.forms.includes(form) || isMade(form));
  return { types: types.length > 0 || forms.length > 0 ? types : defaultQuantizations, forms };
}

/** An error without the model's folder, which is no concern of a remote client. */
export function told(error: unknown, modelDir: string): AppError {
  const { kind, message, details } = asAppError(error);
  return new AppError(kind, message.replaceAll(`${modelDir}${sep}`, ''), { cause: error, details });
}

/** What becomes of all that was wanted after an error. */
export function failedExport(error: unknown, { types, forms }: Wanted, modelDir: string): Exported {
  const { kind, message: reason, details } = told(error, modelDir);
  const { code = kind === 'disk_full' ? kind : 'internal', advice = null } = details as {
    code?: string;
    advice?: string | null;
  };
  const files = types.map((quantization) => ({ quantization, state: 'failed' as const, reason }));
  const because = [reason, advice].filter(Boolean).join(' ');
  const failed = forms.map((form) => ({ form, state: 'failed' as const, reason: because }));
  return {
    export: { state: 'failed', code, reason, advice, files, forms: failed },
    verification: null,
    artifacts: [],
  };
}
