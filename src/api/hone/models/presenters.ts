import { scoresOf } from '../../../contract/evaluations.ts';
import type { Verification } from '../../../contract/journal.ts';
import { jobName, type Parent } from '../../../domain/job-record/job.ts';
import type { ModelFile } from '../../../domain/models/downloads.ts';
import { parentIn, withoutParent } from '../../../domain/models/merged-base.ts';
import type { ListedModel, Model, TemplateFacts } from '../../../domain/models/models.ts';
import type { VerifiedFile } from '../../../domain/models/verified-files.ts';

export function presentCatalogued(model: ListedModel) {
  return {
    model_id: model.modelId,
    id: model.id,
    name: model.name,
    display_name: model.displayName,
    notes: model.notes,
    tags: [...model.tags],
    base_model: model.baseModel,
    parent: model.parent as Parent | null,
    task: model.task,
    strategy: model.strategy,
    dataset: model.datasetName,
    job_id: model.jobId === null ? null : jobName(model.jobId),
    created_at: model.createdAt,
    size_mb: Math.round(model.sizeBytes / 1e4) / 100,
    path: model.path,
    eval_loss: (model.metrics.eval_loss as number | null | undefined) ?? null,
    gain: model.gain,
    scores: scoresOf(model.metrics),
  };
}

export function presentLineage(
  model: Model,
  files: readonly ModelFile[],
  { template, verified }: { template: TemplateFacts; verified: ReadonlyMap<string, VerifiedFile> },
) {
  const kinds = new Map(model.artifacts.map((artifact) => [artifact.path, artifact]));
  return {
    model_id: model.modelId,
    id: model.id,
    name: model.name,
    base_model: model.baseModel,
    parent: parentIn(model.config),
    task: model.task,
    provider: model.provider,
    strategy: model.strategy,
    created_at: model.createdAt,
    dataset: model.datasetName,
    job_id: model.jobId === null ? null : jobName(model.jobId),
    display_name: model.displayName,
    notes: model.notes,
    tags: [...model.tags],
    settings: withoutParent(model.config),
    metrics: model.metrics as Readonly<Record<string, number | null>>,
    verification: model.verification as Verification | null,
    export: model.export,
    chat_template: template.isOwn,
    context_length: template.contextTokens,
    tools_fault: template.toolsFault,
    files: files.map(({ name, bytes }) => {
      const artifact = kinds.get(name);
      const { kind = null, quantization = null } = artifact ?? {};
      const isVerified = kind === 'gguf' ? (verified.get(quantization ?? '')?.passed ?? null) : null;
      return { name, bytes, kind, quantization, verified: isVerified };
    }),
  };
}
