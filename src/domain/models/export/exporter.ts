import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unfinishedStates } from '../../../contract/jobs.ts';
import type { Chosen } from '../../../contract/journal.ts';
import { mergedBytesPerWeight } from '../../../contract/models/export-forms.ts';
import type { Quantization } from '../../../contract/models/quantizations.ts';
import { vocabularySettings } from '../../../contract/training/vocabulary.ts';
import type { Store } from '../../../db/store.ts';
import { AppError } from '../../../errors.ts';
import { readGguf } from '../../../inference/gguf/gguf.ts';
import type { TrainerCommand } from '../../../trainer/processes/supervisor.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import { type Choice, type Exported, killReexport, reexport } from '../../../trainer/reexport.ts';
import type { SizeOf } from '../../base-models/model-size.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import { checkRoom } from '../../machine/disk-room.ts';
import { exportNeed } from '../../training/estimate/disk-need.ts';
import { mergesAdapter } from '../merged-base.ts';
import { writeModelFile } from '../model-file.ts';
import { folderBytes, type Model, type Models } from '../models.ts';
import { chosenFolder, placeFiles, sealed, sealFiles, unseal } from './chosen-files.ts';
import { type Asked, failedExport, failureOf, mergedOutcome, told, withThere } from './export-results.ts';
import { exportSpec } from './export-spec.ts';
import {
  aboutExport,
  createExportTasks,
  type ExportTask,
  type Underway,
  type Wanted,
} from './export-tasks.ts';
import { createTurns } from './export-turns.ts';
import { type FormObstacles, formObstacles, refuseImpossible } from './forms.ts';
import { quantizationSource, quantizeFile } from './quantized-file.ts';

/** Makes GGUF files of kept models, again or in other types, and other forms of them. Progress and end come as `export` frames. */
export interface Exporter {
  /**
   * Makes types and forms from the model's adapter and its base model. It waits until no training runs or waits, as it reads the
   * whole base and could take the memory that a training needs, and until other exports have ended.
   * @param choice makes them, and those that there are, of the adapter at a strength or of a checkpoint; they replace the
   *   former files together, or not at all.
   * @throws AppError `not_found`, `invalid` (no adapter, or none that has such a form), `conflict` (one is underway),
   *   `disk_full`.
   */
  start(reference: string, asked: Asked, choice?: ExportChoice): Promise<Model>;
  /** Why a model cannot be made into the forms. */
  obstacles(model: Model): Promise<FormObstacles>;
  /**
   * Makes a type from the best file that there is, without the base model, beside a training: it reads tensor by tensor.
   * Resolves once llama.cpp has read the source and begun.
   * @throws AppError `not_found`, `invalid` (no GGUF, a damaged one, or nothing better to make it of), `conflict` (it
   *   is there, or an export is underway), `unavailable` (the process that quantizes does not start, or was killed).
   */
  quantize(reference: string, type: Quantization): Promise<Model>;
  underway(model: Model): ExportTask | null;
  /** Ends the export of a model; its files are as before. @throws AppError `not_found`, or `conflict` if there is none. */
  cancel(reference: string): Promise<Model>;
  /** @throws AppError `conflict` while the model is exported. */
  release(model: Model): void;
  /** Looks whether an export that waits can begin. */
  reconsider(): void;
  /** Removes what a service left that was killed during an export. */
  recover(): Promise<void>;
  /** Cancels all. */
  close(): Promise<void>;
}

/** What files are made of; `checkpointDir` is the folder of the checkpoint. */
export interface ExportChoice extends Chosen {
  readonly checkpointDir: string | null;
}

export interface ExporterOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly models: Models;
  /** Where each export has a folder while it is underway. */
  readonly dir: string;
  readonly trainer: TrainerCommand;
  readonly tools: JobSpec['tools'];
  /** A process that quantizes and reports nothing for this long is ended. */
  readonly silenceMs: number;
  readonly sizeOf: SizeOf;
  /** Called when the files of a model have changed. */
  readonly onMade: (model: Model) => Promise<void>;
  readonly logger: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
}

/** Why the changes of a model act at their full strength only, as the end of a sentence; `null` if they can be weaker. */
function whyNoStrength({ config }: Model): string | null {
  if (config.adapter === 'dora') return 'is a DoRA, which acts at its full strength only';
  if (config.adapter === 'full')
    return 'has no adapter that could be weaker, as all of its weights were trained';
  return vocabularySettings.some((name) => config[name] != null)
    ? 'has embeddings of its own, which act at their full strength only'
    : null;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the one export that runs
export function createExporter(options: ExporterOptions): Exporter {
  const { store, frames, models, dir, trainer, tools, logger } = options;
  const tasks = createExportTasks(frames);
  const turns = createTurns(() => store.jobs.inStates(unfinishedStates).length === 0);
  const folderOf = ({ modelId }: Pick<Model, 'modelId'>) => join(dir, modelId);
  const specIn = (folder: string) => join(folder, 'spec.json');

  /** A model with what an export has made of it. */
  async function withMade(model: Model, latest: Exported): Promise<Model> {
    const before = models.find(model.modelId);
    const isNew = (path: string) => latest.artifacts.some((made) => made.path === path);
    return {
      ...before,
      artifacts: [...before.artifacts.filter(({ path }) => !isNew(path)), ...latest.artifacts],
      sizeBytes: await folderBytes(before.path),
      verification: latest.verification ?? before.verification,
      export: mergedOutcome(before.export, latest.export),
    };
  }

  function storeFiles(after: Model): void {
    store.models.setFiles(after.id, after);
    if (after.jobId !== null) {
      store.jobs.update(after.jobId, { export: after.export, verification: after.verification });
    }
  }

  /** Stores what became of the types of an export; `finish` is called when that is told. */
  async function keep(model: Model, wanted: Wanted, latest: Exported, finish: () => void): Promise<void> {
    const after = await withMade(model, latest);
    const failure = failureOf(latest.export);
    finish();
    frames.commit((emit) => {
      storeFiles(after);
      emit('export', null, {
        ...aboutExport(model, wanted),
        state: failure === null ? 'completed' : 'failed',
        error: failure ?? undefined,
        export: after.export,
      });
    });
    // Somebody may have renamed it.
    await writeModelFile(models.find(model.modelId));
    await options.onMade(after);
  }

  /** Brings the sealed files of an export into place, if there are any; also those of one that a kill cut off. */
  async function bring(model: Model, folder: string): Promise<void> {
    const result = await sealed(folder);
    if (result === null) return;
    // So that nothing has the former files open.
    await options.onMade(model);
    await placeFiles(folder, model.path, result.export.chosen == null);
    storeFiles(await withMade(model, result));
    await unseal(folder);
  }

  /** Makes files of a choice. @throws AppError `invalid` with the reason unless all of them could be made. */
  async function makeChosen(
    model: Model,
    folder: string,
    { strength, checkpoint, checkpointDir }: ExportChoice,
    make: (choice: Choice) => Promise<Exported>,
  ): Promise<Exported> {
    const made = await make({ into: chosenFolder(folder), strength, checkpoint: checkpointDir });
    const { state, code, reason, advice } = made.export;
    const failure = failureOf(made.export);
    if (state !== 'done')
      throw new AppError('invalid', reason ?? 'It failed.', { details: { code, advice } });
    if (failure !== null) throw new AppError('invalid', failure);
    const chosen = strength === 1 && checkpoint === null ? null : { strength, checkpoint };
    const result = { ...made, export: { ...made.export, chosen } };
    await sealFiles(folder, result);
    await bring(model, folder);
    return result;
  }

  /** Runs `make` in a folder of its own and stores what it made, if anything, or why it failed. */
  async function run(
    model: Model,
    wanted: Wanted,
    { signal, finish }: Underway,
    make: (folder: string) => Promise<Exported | null>,
  ): Promise<void> {
    const folder = folderOf(model);
    let latest: Exported | null = null;
    try {
      signal.throwIfAborted();
      await bring(model, folder);
      await mkdir(folder, { recursive: true });
      latest = await make(folder);
    } catch (error) {
      if (!signal.aborted) latest = failedExport(error, wanted, model.path);
    }
    await clean(model.path, folder);
    if (latest !== null) await keep(model, wanted, latest, finish);
    else if (signal.aborted) {
      finish();
      const { export: unchanged } = models.find(model.modelId);
      frames.commit((emit) =>
        emit('export', null, { ...aboutExport(model, wanted), state: 'cancelled', export: unchanged }),
      );
    }
  }

  /** `run`, which nobody waits for. */
  const runSafely: typeof run = (model, ...work) =>
    run(model, ...work).catch((error: unknown) => {
      logger.warn({ error, model: model.name }, 'What an export made could not be stored');
    });

  async function start(reference: string, asked: Asked, choice?: ExportChoice) {
    const model = models.find(reference);
    const wanted = choice === undefined ? asked : withThere(model, asked);
    const { types, forms } = wanted;
    tasks.refuseSecond(model);
    const adapter = models.fileOf(model, 'adapter');
    if (adapter === null || !existsSync(adapter)) {
      throw new AppError(
        'invalid',
        `${model.name} has no adapter, so it cannot be exported. Train it again.`,
      );
    }
    const why = choice === undefined || choice.strength === 1 ? null : whyNoStrength(model);
    if (why !== null) throw new AppError('invalid', `${model.name} ${why}. Leave strength out.`);
    refuseImpossible(await formObstacles(model, adapter), asked.forms);
    const { parameters } = await options.sizeOf(model.baseModel, mergesAdapter(model.config));
    const mergedPerWeight = forms.includes('merged') ? mergedBytesPerWeight : 0;
    await checkRoom(model.path, (parameters ?? 0) * (exportNeed(types).exportPerWeight + mergedPerWeight));
    // It may have been deleted.
    models.find(model.modelId);
    tasks.refuseSecond(model);
    tasks.begin(model, wanted, turns.take, (underway) =>
      runSafely(model, wanted, underway, async (folder) => {
        const job = model.jobId === null ? null : store.jobs.get(model.jobId);
        const specPath = specIn(folder);
        const spec = await exportSpec(model, job, types, { folder, tools });
        await writeFile(specPath, JSON.stringify(spec, null, 2));
        const make = (of: Choice | null) =>
          reexport(trainer, { specPath, modelDir: model.path, types, forms, choice: of, ...underway });
        return choice === undefined ? make(null) : makeChosen(model, folder, choice, make);
      }),
    );
    return model;
  }

  async function quantize(reference: string, type: Quantization): Promise<Model> {
    const model = models.find(reference);
    tasks.refuseSecond(model);
    const source = quantizationSource(model, type);
    const wanted = { types: [type], forms: [] };
    await readGguf(join(model.path, source.path));
    // The new file is smaller than its source.
    await checkRoom(model.path, source.bytes);
    models.find(model.modelId);
    tasks.refuseSecond(model);
    await new Promise<void>((resolve, reject) => {
      tasks.begin(model, wanted, null, (underway) => {
        let hasBegun = false;
        let refusal: AppError | null = null;
        const onProgress = (progress: number) => {
          hasBegun = true;
          resolve();
          underway.onStep({ phase: 'quantize', progress, detail: type });
        };
        const { signal } = underway;
        const limits = { command: tools.quantize, silenceMs: options.silenceMs, signal, onProgress };
        return runSafely(
          model,
          wanted,
          underway,
          () =>
            quantizeFile(model, source, type, limits).catch((error: unknown) => {
              if (hasBegun) throw error;
              refusal = told(error, model.path);
              return null;
            }),
          // The one who asked is told when nothing is left of it, and can try again at once.
        ).then(() => (refusal === null ? resolve() : reject(refusal)));
      });
    });
    return model;
  }

  return {
    start,
    quantize,
    async obstacles(model) {
      return formObstacles(model, models.fileOf(model, 'adapter') ?? join(model.path, 'adapter'));
    },
    underway: tasks.of,
    async cancel(reference) {
      const model = models.find(reference);
      await tasks.cancel(model);
      return model;
    },
    release: tasks.refuseSecond,
    reconsider: turns.reconsider,
    async recover() {
      for (const modelId of await readdir(dir).catch(() => [])) {
        const folder = folderOf({ modelId });
        await killReexport(specIn(folder));
        const model = store.models.byModelId(modelId);
        if (model !== null) {
          await bring(model, folder).catch((error: unknown) => {
            logger.warn({ error, model: model.name }, 'Exported files could not be brought into place');
          });
        }
        await clean(model?.path ?? folder, folder);
        if (model === null) continue;
        await writeModelFile(models.find(modelId));
        logger.info({ model: model.name }, 'An export that was cut off was cleared away');
      }
    },
    close: tasks.close,
  };
}

/** Removes the folder of an export, unless what it has is still to be brought into place, and what it left in the model's. */
async function clean(modelDir: string, folder: string): Promise<void> {
  const left = (await readdir(modelDir).catch(() => [])).filter((name) => name.endsWith('.partial'));
  const paths = left.map((name) => join(modelDir, name));
  if ((await sealed(folder)) === null) paths.push(folder);
  await Promise.allSettled(paths.map((path) => rm(path, { recursive: true, force: true, maxRetries: 2 })));
}
