import * as v from 'valibot';

/** The version of the contract in CONTRIBUTING.md that service and trainer both speak. */
export const protocolVersion = 1;

const finite = v.pipe(v.number(), v.finite());
const orNull = <S extends v.GenericSchema>(schema: S) => v.nullable(schema);
const numbers = v.record(v.string(), orNull(finite));
const head = { seq: v.pipe(v.number(), v.integer()), time: v.string() };

export const phaseNames = [
  'check',
  'download',
  'load',
  'probe',
  'train',
  'evaluate',
  'merge',
  'convert',
  'quantize',
  'verify',
] as const;

export const failureCodes = [
  'out_of_memory_gpu',
  'out_of_memory_host',
  'disk_full',
  'model_not_accessible',
  'model_gated',
  'bad_model',
  'bad_tokenizer',
  'bad_dataset_row',
  'loss_not_finite',
  'killed',
  'stalled',
  'dependency_missing',
  'unsupported',
  'verification_failed',
  'internal',
] as const;

const verification = v.looseObject({ passed: v.boolean() });

/** Every kind of line in a job's journal; the table in CONTRIBUTING.md says what the fields mean. */
export const journalLine = v.variant('type', [
  v.object({
    ...head,
    type: v.literal('hello'),
    protocol: v.number(),
    pid: v.number(),
    resumed_from_step: orNull(finite),
    versions: v.record(v.string(), v.nullable(v.string())),
  }),
  v.object({
    ...head,
    type: v.literal('phase'),
    phase: v.picklist(phaseNames),
    progress: orNull(finite),
    detail: orNull(v.string()),
  }),
  v.object({
    ...head,
    type: v.literal('metric'),
    step: finite,
    total_steps: orNull(finite),
    epoch: orNull(finite),
    total_epochs: orNull(finite),
    loss: orNull(finite),
    learning_rate: orNull(finite),
    grad_norm: orNull(finite),
    tokens: orNull(finite),
    tokens_per_second: orNull(finite),
    elapsed_seconds: orNull(finite),
    eta_seconds: orNull(finite),
    memory_bytes: orNull(finite),
    extra: numbers,
  }),
  v.object({
    ...head,
    type: v.literal('eval'),
    step: finite,
    epoch: orNull(finite),
    metrics: numbers,
  }),
  v.object({ ...head, type: v.literal('sample'), step: finite, prompt: v.string(), text: v.string() }),
  v.object({
    ...head,
    type: v.literal('checkpoint'),
    step: finite,
    path: v.string(),
    reason: v.picklist(['interval', 'stop', 'end', 'signal']),
    best: v.boolean(),
  }),
  v.object({
    ...head,
    type: v.literal('artifact'),
    kind: v.picklist(['adapter', 'adapter_gguf', 'gguf', 'modelfile', 'template', 'verification']),
    path: v.string(),
    bytes: finite,
    quantization: orNull(v.string()),
  }),
  v.object({ ...head, type: v.literal('warning'), code: v.string(), message: v.string() }),
  v.object({
    ...head,
    type: v.literal('done'),
    outcome: v.picklist(['completed', 'stopped']),
    step: finite,
    metrics: numbers,
    verification: orNull(verification),
  }),
  v.object({
    ...head,
    type: v.literal('failed'),
    code: v.picklist(failureCodes),
    message: v.string(),
    advice: orNull(v.string()),
    evidence: orNull(v.string()),
  }),
]);
export type JournalLine = v.InferOutput<typeof journalLine>;
export type MetricLine = Extract<JournalLine, { type: 'metric' }>;
export type ArtifactLine = Extract<JournalLine, { type: 'artifact' }>;
export type FailureCode = (typeof failureCodes)[number];

/** What a training run is told; names in `settings` are those of the training request. */
export interface JobSpec {
  readonly protocol: number;
  readonly job_id: string;
  readonly job_dir: string;
  readonly task: string;
  readonly provider: string;
  readonly strategy: string;
  readonly model: { readonly name: string; readonly path: string | null };
  readonly dataset: { readonly name: string; readonly path: string; readonly rows: number };
  readonly settings: Readonly<Record<string, unknown>>;
  readonly export: { readonly quantizations: readonly string[] } | null;
  readonly tensorboard_dir: string | null;
  readonly tools: {
    readonly quantize: readonly string[];
    readonly score: readonly string[];
    readonly converter: string;
  };
}

/** The answer of `python -m trainer describe`. */
export const description = v.looseObject({
  tasks: v.array(v.looseObject({ name: v.string() })),
  strategies: v.array(v.looseObject({ name: v.string() })),
  providers: v.array(
    v.looseObject({ name: v.string(), available: v.boolean(), reason: v.nullable(v.string()) }),
  ),
  combinations: v.array(v.looseObject({})),
  export_architectures: v.array(v.string()),
  lr_scheduler_types: v.array(v.string()),
  optimizers: v.array(v.string()),
  bfloat16_from_width: v.nullable(v.number()),
  versions: v.record(v.string(), v.nullable(v.string())),
});
export type Description = v.InferOutput<typeof description>;
