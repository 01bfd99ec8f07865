import * as v from 'valibot';
import {
  type ExportOutcome,
  exportStates,
  type Field,
  type FieldKind,
  type FieldValue,
  type JournalLine,
  journalLines,
  type protocolVersion,
  type Verification,
} from '../contract/journal.ts';
import { exportForms } from '../contract/models/export-forms.ts';
import type { Quantization } from '../contract/models/quantizations.ts';
import { type RowShape, rowShapeNames } from '../contract/rows.ts';
import type { Settings } from '../contract/settings.ts';
import type { TrackerName } from '../contract/training/trackers.ts';
import type { AdapterBase } from './merged-folder.ts';

const finite = v.pipe(v.number(), v.finite());

export const verification: v.GenericSchema<Verification> = v.looseObject({
  passed: v.boolean(),
  reason: v.optional(v.nullable(v.string())),
  tokens_differ: v.optional(
    v.nullable(
      v.object({
        text: v.string(),
        from_token: v.number(),
        trained: v.array(v.number()),
        gguf: v.array(v.number()),
      }),
    ),
  ),
});

/** Why an export is in its state; `null` where there is nothing to say. */
export const exportReasons = {
  state: v.picklist(exportStates),
  code: v.nullable(v.string()),
  reason: v.nullable(v.string()),
  advice: v.nullable(v.string()),
  /** What the files are of; absent or `null` for the adapter as training left it. */
  chosen: v.optional(
    v.nullable(
      v.object({
        /** What the adapter's change is multiplied by. */
        strength: v.number(),
        /** The step of the checkpoint that the adapter is from; `null` for the end of the training. */
        checkpoint: v.nullable(v.number()),
      }),
    ),
  ),
};
/** What became of one file of an export. */
export const exportedFile = {
  quantization: v.string(),
  state: v.picklist(['done', 'failed']),
  reason: v.nullable(v.string()),
  /** Of how many tokens of the training's rows the importance matrix is that it was quantized by; absent without one. */
  importance_tokens: v.optional(v.nullable(v.number())),
};
export const exportOutcome: v.GenericSchema<ExportOutcome> = v.object({
  ...exportReasons,
  files: v.array(v.object(exportedFile)),
  /** What became of what else was asked for after the training; absent if nothing was. */
  forms: v.optional(
    v.array(
      v.object({
        form: v.picklist(exportForms),
        state: exportedFile.state,
        reason: exportedFile.reason,
      }),
    ),
  ),
});

const kinds: Readonly<Record<FieldKind, v.GenericSchema>> = {
  text: v.string(),
  integer: v.pipe(v.number(), v.integer()),
  number: finite,
  boolean: v.boolean(),
  numbers: v.record(v.string(), v.nullable(finite)),
  texts: v.record(v.string(), v.nullable(v.string())),
  verification,
  export: exportOutcome,
};

function fieldSchema(field: Field): v.GenericSchema {
  if (typeof field !== 'string') return v.picklist(field);
  const kind = kinds[field.replaceAll('?', '') as FieldKind];
  return field.endsWith('?') ? v.nullable(kind) : kind;
}

type FieldSchema<F> = F extends `${string}??`
  ? v.OptionalSchema<v.GenericSchema<FieldValue<F>>, undefined>
  : v.GenericSchema<FieldValue<F>>;
/** The schemas for a table of fields as stored in the database. */
export const fieldSchemas = <T extends Readonly<Record<string, Field>>>(fields: T) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const schema = fieldSchema(field);
      return [name, typeof field === 'string' && field.endsWith('??') ? v.optional(schema) : schema];
    }),
  ) as unknown as { [N in keyof T]: FieldSchema<T[N]> };

/** A nullable journal field may be absent: older trainers did not write it. */
const lineFields = (fields: Readonly<Record<string, Field>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const schema = fieldSchema(field);
      return [name, typeof field === 'string' && field.endsWith('?') ? v.optional(schema, null) : schema];
    }),
  );

/** The schema of each journal line type; docs/job-folder.md describes the fields. */
export const journalLine = v.variant(
  'type',
  Object.entries(journalLines).map(([type, fields]) =>
    v.object({
      seq: v.pipe(v.number(), v.integer()),
      time: v.string(),
      type: v.literal(type),
      ...lineFields(fields),
    }),
  ),
) as unknown as v.GenericSchema<unknown, JournalLine>;

/** A job's own copy of a dataset's rows. */
export interface RowsFile {
  readonly name: string;
  readonly path: string;
  readonly rows: number;
  readonly shape: RowShape;
}

/**
 * The model of Hone that a run goes on from, and the step of its checkpoint, if it is one: its adapter is trained on, or
 * was merged into the run's base, or its weights are the base. `why` its adapter is not trained on.
 */
export const parent = v.object({
  model_id: v.string(),
  name: v.string(),
  step: v.nullable(v.number()),
  how: v.picklist(['adapter', 'merged', 'whole']),
  why: v.nullable(v.string()),
});
export type Parent = v.InferOutput<typeof parent>;

/**
 * The model that a run learns from: of the hub, or a folder, with the GGUF file that this is made of, if it is, and the
 * folder of its adapter, if it has one.
 */
export interface Teacher {
  readonly name: string;
  readonly path: string | null;
  readonly gguf: string | null;
  readonly adapter: string | null;
}

/** The specification of a run; names in `settings` are those of the training request. */
export interface JobSpec {
  readonly protocol: typeof protocolVersion;
  readonly job_id: string;
  readonly job_dir: string;
  readonly task: string;
  readonly provider: string;
  readonly strategy: string;
  readonly model: {
    readonly name: string;
    readonly path: string | null;
    /** The GGUF file that the folder is made of, if it is. */
    readonly gguf?: string;
    /** The adapter that is merged into its base to make the folder, if one is. */
    readonly adapter?: AdapterBase;
    /** The model of Hone that the run goes on from, if it does. */
    readonly parent?: Parent;
  };
  readonly dataset: RowsFile;
  /** The rows to validate on, if they are not a part of the dataset; absent in older job folders. */
  readonly validation: RowsFile | null;
  readonly settings: Settings;
  /** If no GGUF is `required`, a model that llama.cpp does not support is trained without one. */
  readonly export: { readonly quantizations: readonly Quantization[]; readonly required: boolean } | null;
  readonly tensorboard_dir: string | null;
  /** The trackers that the service passes the run's figures to; absent in older job folders. */
  readonly tracking?: { readonly report_to: TrackerName[]; readonly project: string } | null;
  /** Whom the run learns from (`distill`); `null` without one, absent in older job folders. */
  readonly teacher?: Teacher | null;
  readonly tools: {
    readonly quantize: readonly string[];
    readonly score: readonly string[];
    /** Absent in older job folders. */
    readonly render: readonly string[];
    readonly converter: string;
    /** The folder for what is known of base models; absent in older job folders. */
    readonly bases: string;
  };
  /** The disk space that the run needs, per weight of the base model and per trained weight. */
  readonly disk: {
    readonly checkpoints_bytes: number;
    readonly checkpoints_per_trained_weight: number;
    readonly export_per_weight: number;
    readonly export_per_trained_weight: number;
    /** What the teacher's answers take, about; absent in older job folders. */
    readonly teacher_bytes?: number;
    readonly spare_bytes: number;
  };
}

/** The name, label and one-sentence description of a task, strategy or provider. */
const words = { name: v.string(), label: v.string(), description: v.string() };

/** The output of `python -m trainer describe`. */
export const description = v.looseObject({
  tasks: v.array(
    v.looseObject({
      ...words,
      row_shape: v.picklist(rowShapeNames),
      /** Every shape that the task takes, `row_shape` first. */
      row_shapes: v.array(v.picklist(rowShapeNames)),
      /** What its evaluations report. */
      metrics: v.array(v.string()),
    }),
  ),
  strategies: v.array(
    v.looseObject({
      ...words,
      /** `null` if the task determines the row shape. */
      row_shape: v.nullable(v.picklist(rowShapeNames)),
      tasks: v.array(v.string()),
    }),
  ),
  providers: v.array(v.looseObject({ ...words, available: v.boolean(), reason: v.nullable(v.string()) })),
  /** How the ranks of a training can run. */
  engines: v.array(v.looseObject({ ...words, available: v.boolean(), reason: v.nullable(v.string()) })),
  combinations: v.array(
    v.looseObject({
      task: v.string(),
      strategy: v.string(),
      provider: v.string(),
      /** Model types of encoders and encoder-decoders. Every combination trains causal language models. */
      model_types: v.array(v.string()),
      /** Why it trains with one worker alone; `null` if it trains with several. */
      why_one_worker: v.nullable(v.string()),
    }),
  ),
  export_architectures: v.array(v.string()),
  /** By `model_type`: the class that transformers has for a causal language model. */
  causal_classes: v.record(v.string(), v.string()),
  /**
   * How weights may be stored quantized, why such a model cannot be trained here, whether it is dequantized for it, the
   * forms of codes that are read (`null` for methods without any), and whether an adapter of it becomes a GGUF.
   */
  quantizations: v.record(
    v.string(),
    v.object({
      reason: v.nullable(v.string()),
      dequantized: v.boolean(),
      forms: v.nullable(v.array(v.string())),
      merged: v.boolean(),
    }),
  ),
  /** Multimodal models, and the `model_type`s of text parts, or of such models, that can be trained alone. */
  text_parts: v.object({ architectures: v.array(v.string()), model_types: v.array(v.string()) }),
  lr_scheduler_types: v.array(v.string()),
  optimizers: v.array(v.string()),
  optimizer_state_bytes: v.record(v.string(), v.number()),
  bfloat16_from_width: v.nullable(v.number()),
  versions: v.record(v.string(), v.nullable(v.string())),
});
export type Description = v.InferOutput<typeof description>;
