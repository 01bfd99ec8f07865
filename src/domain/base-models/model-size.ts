import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HubAccess } from '../../hub/access.ts';
import { findCached } from '../../hub/cached-model.ts';
import { readModelConfig } from '../../hub/model-config.ts';
import { readModelInfo } from '../../hub/model-info.ts';
import { withAdapter } from './adapter-base.ts';
import { type BaseModel, locateModel, refuseNoFolder } from './base-model.ts';
import { hasTokenizer } from './files/tokenizer-files.ts';
import { hasAdapter, indexedWeights, whyNoWeights } from './files/weight-files.ts';
import { ggufKind, ggufShape, readBase } from './gguf/gguf-base.ts';
import { kindOf, type ModelKind, unknownKind } from './gguf/gguf-verdict.ts';
import { type ModelShape, readModelShape, shapeOf, textParameters } from './model-shape.ts';
import { filesWithCode, namesCode } from './own-code.ts';
import reviewedModels from './recommended-models.json' with { type: 'json' };

/** The size of a base model, as far as known before downloading it. */
export interface ModelSize {
  readonly parameters: number | null;
  readonly shape: ModelShape | null;
  readonly kind: ModelKind;
  /** Its files that refer to Python code, as far as known. */
  readonly withCode: readonly string[];
  /** Whether it has no tokenizer that Hone reads, as far as known. */
  readonly withoutTokenizer: boolean;
  /** Why it has no weights that can be loaded; `null` if it has them, or if its files are not known. */
  readonly whyNoWeights: string | null;
  /** Whether an adapter lies beside its weights. */
  readonly hasAdapterBeside: boolean;
  /** Whether its files have been downloaded, or made of its GGUF. */
  readonly local: boolean;
}

/** One model of the reviewed list. */
export interface ReviewedModel {
  readonly billionParameters: number;
  readonly licence: string;
  readonly why: string;
  /** From its config.json. */
  readonly shape: Omit<ModelShape, 'parameters'>;
}

const unknown = {
  shape: null,
  kind: unknownKind,
  withCode: [],
  withoutTokenizer: false,
  whyNoWeights: null,
  hasAdapterBeside: false,
};

/** A model's entry in the reviewed list, or `undefined`. */
export const reviewed = (name: string): ReviewedModel | undefined =>
  (reviewedModels.models as Readonly<Record<string, ReviewedModel>>)[name];

/** The size of the model of a GGUF file whose header was read. */
export const ggufSize = (file: Awaited<ReturnType<typeof readBase>>, local: boolean): ModelSize => ({
  ...unknown,
  parameters: file.parameters,
  shape: ggufShape(file),
  kind: ggufKind(file),
  local,
});

const keptAnswers = 100;
/** How long to wait before asking a hub that did not respond again. */
const failureKeptMs = 30_000;
/** Estimates are updated while editing, so they wait briefly for the hub and ask once. */
const patience = { timeoutMs: 5_000, backoffMs: 1, waitMs: 0 };

/** The size of a base model; with `merges`, of the one that its adapter is merged into. */
export type SizeOf = (reference: string, merges?: boolean) => Promise<ModelSize>;

/**
 * Determines model sizes: from the files of a folder or the cache, from the reviewed list, or from the hub, whose answers
 * are cached.
 */
export function createModelSizes(access: HubAccess): SizeOf {
  // Read at each use: the token may be replaced.
  const hub: HubAccess = {
    ...access,
    patience,
    get token() {
      return access.token;
    },
  };
  const asked = new Map<string, Promise<ModelSize>>();

  async function ask(name: string): Promise<ModelSize> {
    const [info, config] = await Promise.all([readModelInfo(hub, name), readModelConfig(hub, name)]);
    const parameters = info.parameters === null ? null : textParameters(config, info.parameters);
    return {
      parameters,
      shape: parameters === null ? null : shapeOf(config, parameters),
      kind: kindOf(config),
      withCode: namesCode(config) ? ['config.json'] : [],
      withoutTokenizer: info.files !== null && !hasTokenizer(info.files),
      whyNoWeights: info.files === null ? null : whyNoWeights(name, info.files, null),
      hasAdapterBeside: hasAdapter(info.files ?? []),
      local: false,
    };
  }

  const sizeOf: SizeOf = async (reference, merges = false) => {
    if (merges) return mergedSize(await withAdapter(locateModel(reference)));
    const { path, name, gguf } = locateModel(reference);
    if (gguf !== undefined && path !== null)
      return ggufSize(await readBase(gguf), existsSync(join(path, 'config.json')));
    if (path !== null) await refuseNoFolder(path);
    const folder = path ?? (await findCached(name));
    if (folder !== null) {
      const { shape, kind } = await readModelShape(folder).catch(() => unknown);
      if (shape !== null || path !== null) {
        const withCode = await filesWithCode(folder);
        const files = await readdir(folder);
        return {
          parameters: shape?.parameters ?? null,
          shape,
          kind,
          withCode,
          local: true,
          withoutTokenizer: !hasTokenizer(files),
          // What the cache lacks is downloaded.
          whyNoWeights: path && whyNoWeights(reference, files, await indexedWeights(folder)),
          hasAdapterBeside: hasAdapter(files),
        };
      }
    }
    const known = reviewed(name);
    if (known !== undefined) {
      const parameters = Math.round(known.billionParameters * 1e9);
      return { ...unknown, parameters, shape: { ...known.shape, parameters }, local: false };
    }
    const answer = asked.get(name) ?? ask(name);
    if (asked.size >= keptAnswers) asked.delete(asked.keys().next().value as string);
    asked.set(name, answer);
    return answer.catch(() => {
      setTimeout(() => {
        if (asked.get(name) === answer) asked.delete(name);
      }, failureKeptMs).unref();
      return { parameters: null, ...unknown, local: false };
    });
  };

  /** That of an adapter's base, of which it may replace the tokenizer. */
  async function mergedSize({ adapter }: BaseModel): Promise<ModelSize> {
    const { path, base, base_path: basePath } = adapter as NonNullable<BaseModel['adapter']>;
    const size = await sizeOf(basePath ?? base);
    const { quantization } = size.kind;
    const whyQuantized =
      quantization === null
        ? null
        : `${base}, the base of the adapter, has its weights stored quantized (${quantization}), and an adapter cannot be merged into them exactly. Set base_model_name_or_path in adapter_config.json to the 16-bit version of this model`;
    return {
      ...size,
      withoutTokenizer: size.withoutTokenizer && !hasTokenizer(await readdir(path)),
      whyNoWeights: size.whyNoWeights ?? whyQuantized,
      hasAdapterBeside: false,
    };
  }

  return sizeOf;
}
