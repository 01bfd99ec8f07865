import { join } from 'node:path';
import { createLocalModels, type LocalModels } from '../domain/base-models/local-models.ts';
import { createModelSizes, type SizeOf } from '../domain/base-models/model-size.ts';
import { createCheckpoints } from '../domain/checkpoints/checkpoints.ts';
import { createParents } from '../domain/checkpoints/parents.ts';
import { createSharedBases } from '../domain/checkpoints/shared-bases.ts';
import { findStarter } from '../domain/datasets/starter-model.ts';
import { createExporter } from '../domain/models/export/exporter.ts';
import { createHubPush } from '../domain/models/hub-push.ts';
import { createModelRemoval, type RemoveModel } from '../domain/models/model-removal.ts';
import { createModels } from '../domain/models/models.ts';
import { createBases } from '../domain/playground/bases.ts';
import { createChats } from '../domain/playground/chats.ts';
import { createPlayground } from '../domain/playground/playground.ts';
import { createRemoteModels, remoteModelsPath } from '../domain/remote-models/remote-models.ts';
import { availableMemory } from '../hardware/facts.ts';
import { createEngine } from '../inference/engine/engine.ts';
import { createEngines } from '../inference/engine/engines.ts';
import { createTrainedEngine } from '../inference/engine/trained-engine.ts';
import { threadPlacement } from '../native/thread-placement.ts';
import { answeringEnvironment, startAnswering } from '../trainer/answering.ts';
import type { WarmTrainer } from '../trainer/processes/warm.ts';
import { type Foundation, starterDirs } from './foundation.ts';
import type { composeMachine } from './machine.ts';

/** Trained models, and the features that use their files. */
export function composeModels(
  foundation: Foundation,
  { machine }: ReturnType<typeof composeMachine>,
  warm: WarmTrainer,
) {
  const { config, logger, store, frames, bin, hub } = foundation;
  const { remoteFirstByteMs, remoteSilenceMs, remoteAnswerBytes, remoteAtOnce } = config.limits;
  const remoteModels = createRemoteModels(
    remoteModelsPath(config.dataDir),
    (name) => store.models.byName(name) !== null || store.models.byModelId(name) !== null,
    {
      firstByteMs: remoteFirstByteMs,
      silenceMs: remoteSilenceMs,
      answerBytes: remoteAnswerBytes,
      atOnce: remoteAtOnce,
    },
  );
  const isReserved = (name: string) => remoteModels.find(name) !== null;
  const models = createModels({ store, frames, bin, modelsDir: config.modelsDir, isReserved });
  const bounds = {
    idleMs: config.limits.playgroundIdleMs,
    silenceMs: config.limits.engineSilenceMs,
    stallMs: config.limits.engineStallMs,
    maxPending: config.limits.pendingAnswers,
    logger,
  };
  const engine = createEngines(
    createEngine({
      workerPath: join(config.installDir, 'dist', 'inference-worker.js'),
      preload: threadPlacement(),
      gpu: 'auto',
      available: async () => ((await machine()).facts.gpus.length > 0 ? null : availableMemory()),
      maxLoaded: 2,
      ...bounds,
    }),
    createTrainedEngine({
      program: async () => {
        const forked = await warm.answer(answeringEnvironment(config));
        return () => forked ?? startAnswering(config);
      },
      ...bounds,
    }),
  );
  const bases = createSharedBases({
    store,
    basesDir: config.basesDir,
    jobsDir: config.jobsDir,
    deleted: bin.folders,
  });
  const checkpoints = createCheckpoints({
    store,
    models,
    bases,
    jobsDir: config.jobsDir,
    command: config,
    logger,
  });
  const sizeOf = createModelSizes(hub);
  const localModels = composeLocalModels(foundation, sizeOf);
  const untrained = createBases({
    localModels,
    dir: join(config.dataDir, 'base-templates'),
    command: config,
    unload: engine.unload,
  });
  const playground = createPlayground({ engine, store, models, checkpoints, bases, untrained });
  const chats = createChats(store, bin);
  const hubPush = createHubPush({ hub, frames, models, logger });
  const tools = {
    quantize: [process.execPath, join(config.installDir, 'dist', 'quantize.js')],
    score: [process.execPath, join(config.installDir, 'dist', 'score.js')],
    render: [process.execPath, join(config.installDir, 'dist', 'compare-renderings.js')],
    converter: config.converterDir,
    bases: config.basesDir,
  };
  const exporter = createExporter({
    store,
    frames,
    models,
    tools,
    sizeOf,
    logger,
    dir: join(config.dataDir, 'exports'),
    trainer: config,
    silenceMs: config.limits.quantizeSilenceMs,
    // What it still answers with is replaced once it is idle.
    onMade: (model) => playground.release(model).catch(() => undefined),
  });
  // Last, because nothing can be exported between its answer and the removal.
  const remove = createModelRemoval({ store, models, bin, users: [hubPush, playground, exporter] });
  const removeModel: RemoveModel = async (reference, permanently) => {
    const removed = await remove(reference, permanently);
    await playground.sweep();
    return removed;
  };
  return {
    models,
    remoteModels,
    engine,
    checkpoints,
    chats,
    playground,
    hubPush,
    exporter,
    removeModel,
    tools,
    sizeOf,
    parents: createParents({ store, models, checkpoints }),
    localModels,
    untrained,
  };
}

/** The base models on this machine. */
const composeLocalModels = ({ config, store }: Foundation, sizeOf: SizeOf): LocalModels =>
  createLocalModels({
    starter: () => findStarter(starterDirs(config)),
    trained: () => store.jobs.list({ states: [], limit: 200, offset: 0 }).jobs,
    sizeOf,
  });
