import { type FailureCode, failureCodes } from './failures.ts';
import { type Phase, phaseNames } from './jobs.ts';
import type { ExportForm } from './models/export-forms.ts';

/** The version of the interface between service and trainer (docs/job-folder.md). */
export const protocolVersion = 1;

/** The types of field values. `numbers` and `texts` are objects with such values, each nullable. */
interface Kinds {
  text: string;
  integer: number;
  number: number;
  boolean: boolean;
  numbers: Record<string, number | null>;
  texts: Record<string, string | null>;
  verification: Verification;
  export: ExportOutcome;
}
export type FieldKind = keyof Kinds;
/** A type, with `?` if nullable and `??` if it is also absent from older runs, or the list of allowed strings. */
export type Field = FieldKind | `${FieldKind}?` | `${FieldKind}??` | readonly string[];

/** The result of the verification after export; other figures vary. */
export type Verification = {
  readonly passed: boolean;
  /** Why the verification failed. */
  readonly reason?: string | null | undefined;
  /** A text that the GGUF tokenizes differently from training; the ids start at `from_token`. */
  readonly tokens_differ?:
    | {
        readonly text: string;
        readonly from_token: number;
        readonly trained: number[];
        readonly gguf: number[];
      }
    | null
    | undefined;
} & { readonly [figure: string]: unknown };

export const exportStates = ['done', 'skipped', 'failed'] as const;
export type ExportState = (typeof exportStates)[number];

/** What the files of a model are of, where that is not the adapter as training left it. */
export interface Chosen {
  /** What the adapter's change is multiplied by. */
  readonly strength: number;
  /** The step of the checkpoint that the adapter is from; `null` for the end of the training. */
  readonly checkpoint: number | null;
}

/**
 * What became of the GGUF files of a training that took its last step: `skipped` without a type that was asked for and
 * possible, `failed` if any of `files` could not be made or is wrong. The others are published.
 */
export interface ExportOutcome {
  readonly state: ExportState;
  /** The code of the failure; `null` unless failed. */
  readonly code: string | null;
  readonly reason: string | null;
  readonly advice: string | null;
  /** Absent or `null` where the files are of the adapter as training left it. */
  readonly chosen?: Chosen | null | undefined;
  readonly files: readonly {
    readonly quantization: string;
    readonly state: Exclude<ExportState, 'skipped'>;
    readonly reason: string | null;
    /**
     * Of how many tokens of the training's rows the importance matrix is that the file was quantized by; `null` or absent
     * without one.
     */
    readonly importance_tokens?: number | null | undefined;
  }[];
  /** The same of what else was asked for after the training; absent if nothing was. `state` tells nothing of it. */
  readonly forms?:
    | readonly {
        readonly form: ExportForm;
        readonly state: Exclude<ExportState, 'skipped'>;
        readonly reason: string | null;
      }[]
    | undefined;
}

export const checkpointReasons = ['interval', 'stop', 'end', 'signal'] as const;
export const artifactKinds = [
  'adapter',
  'adapter_gguf',
  'adapter_readme',
  'gguf',
  'merged',
  'mmproj',
  'adapter_modelfile',
  'modelfile',
  'template',
  'verification',
  'importance',
] as const;

/** What runs the ranks of a job with several workers: this machine, or the machines of a cluster. */
export const engineNames = ['local', 'cluster'] as const;

/**
 * The types of lines in a job's journal, and their fields in addition to `seq`, `time` and `type`. A new field's type ends
 * in `??`: lines of earlier releases lack it.
 */
export const journalLines = {
  hello: { protocol: 'integer', pid: 'integer', resumed_from_step: 'integer?', versions: 'texts' },
  phase: { phase: phaseNames as readonly Phase[], progress: 'number?', detail: 'text?' },
  /** Of a job with several workers: what they run on; `nodes` are the cluster's, each with its number of workers. */
  engine: { name: engineNames, nodes: 'numbers?' },
  metric: {
    step: 'integer',
    total_steps: 'integer',
    epoch: 'number',
    total_epochs: 'number',
    loss: 'number?',
    learning_rate: 'number?',
    grad_norm: 'number?',
    /** Labelled and unlabelled tokens, since the start. */
    tokens: 'integer',
    tokens_per_second: 'number?',
    elapsed_seconds: 'number',
    eta_seconds: 'number?',
    memory_bytes: 'integer?',
    extra: 'numbers',
  },
  eval: { step: 'integer', epoch: 'number', metrics: 'numbers' },
  /**
   * An answer of the model at a step; at step 0, that is the base model. `reference` is the answer that is wanted, if it
   * is known, `file` the quantization of the exported file that answered, if that did, and `scores` are those by graders.
   */
  sample: {
    step: 'integer',
    prompt: 'text',
    text: 'text',
    reference: 'text??',
    file: 'text??',
    scores: 'numbers??',
  },
  /** `path` is relative to the job folder. */
  checkpoint: { step: 'integer', path: 'text', reason: checkpointReasons, best: 'boolean' },
  artifact: { kind: artifactKinds, path: 'text', bytes: 'integer', quantization: 'text?' },
  warning: { code: 'text', message: 'text' },
  done: {
    outcome: ['completed', 'stopped'],
    step: 'integer',
    metrics: 'numbers',
    verification: 'verification?',
    /** Absent from runs that were stopped. */
    export: 'export??',
  },
  failed: {
    code: failureCodes as readonly FailureCode[],
    message: 'text',
    advice: 'text?',
    evidence: 'text?',
  },
} as const satisfies Record<string, Readonly<Record<string, Field>>>;

export type LineType = keyof typeof journalLines;

export type FieldValue<F> = F extends readonly (infer Choice)[]
  ? Choice
  : F extends `${infer Kind extends FieldKind}??`
    ? Kinds[Kind] | null
    : F extends `${infer Kind extends FieldKind}?`
      ? Kinds[Kind] | null
      : F extends FieldKind
        ? Kinds[F]
        : never;
/** The values for a table of fields. */
export type FieldValues<T> = { -readonly [N in keyof T]: FieldValue<T[N]> };

export type LineOf<T extends LineType> = FieldValues<(typeof journalLines)[T]> & {
  seq: number;
  time: string;
  type: T;
};
export type JournalLine = { [T in LineType]: LineOf<T> }[LineType];
