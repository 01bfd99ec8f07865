import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { createFinetuneFace } from './api/finetune/face.ts';
import { createFlatFace } from './api/flat/face.ts';
import { createHoneFace } from './api/hone/face.ts';
import { trainingSocket } from './api/hone/socket.ts';
import { createOpenAiFace } from './api/openai/face.ts';
import { type Config, readConfig } from './config.ts';
import { type InstanceLock, lockInstance } from './db/instance.ts';
import { openStore } from './db/store.ts';
import { runDoctor } from './doctor.ts';
import { createCatalog } from './domain/catalog.ts';
import { createDatasets } from './domain/datasets.ts';
import { createExamples } from './domain/examples.ts';
import { createFrames, type Frame } from './domain/frames.ts';
import { createHubPush } from './domain/hub-push.ts';
import { createJobs } from './domain/jobs.ts';
import { createLive } from './domain/live.ts';
import { hasCuda, type Machine, readMachine } from './domain/machine.ts';
import { createModelSizes } from './domain/model-size.ts';
import { createModels, type Models } from './domain/models.ts';
import { createPlanner } from './domain/planner.ts';
import { createPlayground } from './domain/playground.ts';
import { createPreviewer } from './domain/previewer.ts';
import { createQuantizer } from './domain/quantizer.ts';
import { createSelection } from './domain/selection.ts';
import type { Services } from './domain/services.ts';
import { recommendedSettings, type SettingsContext } from './domain/settings.ts';
import { greet } from './domain/snapshot.ts';
import { AppError, asAppError } from './errors.ts';
import { createAssets } from './http/assets.ts';
import { buildOpenApi } from './http/openapi.ts';
import type { Face } from './http/route.ts';
import { createServer, type Server } from './http/server.ts';
import { createEngine } from './inference/engine.ts';
import { portHolder } from './port-holder.ts';
import { stopService } from './stop.ts';
import { describeTrainer } from './trainer/describe.ts';
import { createWarmTrainer } from './trainer/warm.ts';

/** Specification, "Versioning". */
const version = 'v2';
const machineMaxAgeMs = 5_000;
/** Free memory that a warm trainer asks for: its imports (0.9 GB with PyTorch's CUDA build) and as much again. */
const warmTrainerBytes = 2 * 2 ** 30;

export type Logger = ReturnType<typeof createLogger>;

function createLogger(config: Config) {
  // Whoever reads the log may go away (`hone serve | head`); pino's own destination would try again for ever,
  // and block everything else.
  process.stdout.on('error', () => undefined);
  return pino({ level: config.logLevel, base: null, redact: ['token', 'hubToken'] }, process.stdout);
}

/** Wires the core on an open data directory: what `serve` answers with, and what `stop` ends a job with. */
export function compose(config: Config, logger: Logger, publish: (frame: Frame, droppable: boolean) => void) {
  const store = openStore(config.databasePath, join(config.installDir, 'src', 'db', 'migrations'));
  const dist = (name: string) => join(config.installDir, 'dist', name);
  const command = {
    pythonPath: config.pythonPath,
    installDir: config.installDir,
    environment: config.environment,
  };
  const frames = createFrames(store, publish);
  const catalog = createCatalog(() => describeTrainer(command, config.converterDir));
  const datasets = createDatasets(config.datasetsDir, store.datasets);
  const engine = createEngine({
    workerPath: dist('inference-worker.js'),
    gpu: 'auto',
    idleMs: config.limits.playgroundIdleMs,
    maxLoaded: 2,
    logger,
  });
  const playground = createPlayground({ engine, models: () => models });
  const hub = {
    endpoint: config.hubEndpoint,
    token: config.hubToken,
    offline: config.hubOffline,
    patience: {
      timeoutMs: config.limits.hubTimeoutMs,
      backoffMs: config.limits.hubBackoffMs,
      waitMs: config.limits.hubWaitMs,
    },
  };
  const hubPush = createHubPush({ hub, frames, models: () => models, logger });
  const quantizer = createQuantizer({ store, frames, models: () => models });
  const models: Models = createModels({
    store,
    frames,
    modelsDir: config.modelsDir,
    release: async (model) => {
      hubPush.release(model);
      quantizer.release(model);
      await playground.release(model);
    },
  });
  const selection = createSelection({ store: store.session, catalog, hub });

  const live = createLive(frames, logger, async () => (await machine()).facts.gpus.map(({ name }) => name));

  let known: { at: number; machine: Promise<Machine> } | null = null;
  const machine = () => {
    if (known === null || performance.now() - known.at > machineMaxAgeMs) {
      known = { at: performance.now(), machine: readMachine(config.dataDir) };
    }
    return known.machine;
  };
  const warm = createWarmTrainer({
    command,
    idleMs: config.limits.warmTrainerIdleMs,
    possible: async () => {
      const { facts } = await machine();
      const fits = facts.ramAvailableBytes > warmTrainerBytes && jobs.unfinished() === null;
      // A device's driver does not survive a fork.
      return fits && facts.gpus.length === 0;
    },
    onReady: () => logger.debug('A trainer is warm'),
    onProblem: (problem) => logger.warn({ problem }, 'Trainers are started from nothing'),
  });
  // Whoever asks what a training would be set to is likely to start one soon.
  const settingsContext = async (asked?: SettingsContext['profile'] | null): Promise<SettingsContext> => {
    void warm.expect();
    const [here, description] = await Promise.all([machine(), catalog.get()]);
    return {
      profile: asked ?? here.profile,
      cuda: hasCuda(here),
      quantizes: description.versions.bitsandbytes != null,
      bfloat16FromWidth: description.bfloat16_from_width,
      defaultBatchSize: config.defaultBatchSize,
      lrSchedulerTypes: description.lr_scheduler_types,
      optimizers: description.optimizers,
    };
  };
  const tools = {
    quantize: [process.execPath, dist('quantize.js')],
    score: [process.execPath, dist('score.js')],
    converter: config.converterDir,
  };
  const judges = { catalog, datasets, settingsContext };
  const previewer = createPreviewer({
    ...judges,
    command,
    tools,
    jobsDir: config.jobsDir,
    hubToken: config.hubToken,
    timeoutMs: config.limits.previewMs,
  });
  const planner = createPlanner({
    catalog,
    machine,
    settingsContext,
    datasets,
    selection,
    sizeOf: createModelSizes(hub),
    dataDir: config.dataDir,
  });
  const jobs = createJobs({
    ...judges,
    checkDisk: planner.checkDisk,
    store,
    frames,
    models,
    command,
    warm,
    tools,
    jobsDir: config.jobsDir,
    logsDir: config.logsDir,
    hubToken: config.hubToken,
    waits: {
      askMs: config.limits.stopAskMs,
      termMs: config.limits.stopTermMs,
      heartbeatMs: config.limits.heartbeatMs,
      lingerMs: config.limits.lingerMs,
    },
    takeTrace: live.takeTrace,
    onActive: (active) => {
      engine.setTrainingActive(active);
      live.setTraining(active);
    },
    logger,
  });
  const examples = createExamples({
    dir: join(config.installDir, 'examples'),
    starterDirs: [config.cacheDir, config.dataDir],
    datasets,
    recommended: async (task) => selection.recommend((await machine()).profile, task).recommended,
  });
  const services: Services = {
    planner,
    catalog,
    datasets,
    examples,
    frames,
    hubPush,
    jobs,
    models,
    playground,
    previewer,
    quantizer,
    selection,
    machine,
    recommendedSettings: async (profile) => recommendedSettings(await settingsContext(profile)),
    version,
    uploadLimitBytes: config.limits.uploadBytes,
  };
  return { services, store, engine, live, warm };
}

async function serve(config: Config): Promise<void> {
  const logger = createLogger(config);
  const lock = lockInstance(config.dataDir);
  for (const dir of [config.datasetsDir, config.modelsDir, config.logsDir, config.jobsDir]) {
    if (dir !== null) mkdirSync(dir, { recursive: true });
  }
  let server: Server | null = null;
  const { services, store, engine, live, warm } = compose(config, logger, (frame, droppable) =>
    server?.broadcast.publish(JSON.stringify(frame), droppable),
  );
  const faces: Face[] = [createFinetuneFace(services), createFlatFace(services), createOpenAiFace(services)];
  const hone = createHoneFace(services, () =>
    buildOpenApi(faces, { title: 'Hone', version }, trainingSocket),
  );
  faces.push(hone);
  server = createServer({
    faces,
    fallback: hone,
    allowedHosts: config.allowedHosts,
    jsonLimitBytes: config.limits.jsonBytes,
    assets: createAssets(join(config.installDir, 'dist', 'ui')),
    socket: {
      path: trainingSocket.path,
      greet: (since) => greet(services, since),
      onCount: live.setListeners,
    },
    onError: (error, request) =>
      logger.error({ ...request, error: error.message, stack: error.stack }, 'A request failed'),
  });
  // Before anybody can upload: what is new in the folder would be taken for a leftover.
  await services.datasets.reconcile();
  let port: number;
  try {
    port = await server.listen(config.host, config.port);
  } catch (error) {
    lock.release();
    const holder = await portHolder(config.port);
    throw new AppError(
      'conflict',
      `${asAppError(error).message}${holder === null ? '' : ` It is held by ${holder}.`} Choose another with --port.`,
    );
  }
  const url = `http://${config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host}:${port}`;
  lock.announce(url);
  logger.info({ url, host: config.host, port, dataDir: config.dataDir }, `Hone ${version} answers at ${url}`);
  if (config.host === '0.0.0.0' || config.host === '::') {
    logger.warn(
      `Listening on all interfaces: anyone on your network can use this service. Start it with --host 127.0.0.1 to keep it local.`,
    );
  }
  endOnSignal(config, logger, lock, async () => {
    server.close();
    live.stop();
    warm.close();
    await Promise.all([services.jobs.close(), services.quantizer.close(), engine.close()]);
    const job = services.jobs.unfinished();
    store.close();
    return job === null ? null : job.id;
  });
  services.catalog.get().catch((error) => logger.error(asAppError(error).message));
  await services.jobs.recover();
}

/** Ends the service on SIGTERM or SIGINT within its deadline; a training goes on, and the last line says so. */
function endOnSignal(
  config: Config,
  logger: Logger,
  lock: InstanceLock,
  close: () => Promise<number | null>,
): void {
  let ending = false;
  const end = async (signal: string) => {
    if (ending) return;
    ending = true;
    logger.info({ signal }, 'Stopping the service');
    const deadline = setTimeout(() => process.exit(1), config.limits.shutdownMs);
    const jobId = await close();
    clearTimeout(deadline);
    lock.release();
    logger.info(
      jobId === null
        ? 'The service has stopped; no training is running.'
        : `The service has stopped; training train_${jobId} goes on. Start Hone again to follow it, or run "hone stop" to stop it.`,
    );
    process.exit(0);
  };
  process.on('SIGTERM', () => void end('SIGTERM'));
  process.on('SIGINT', () => void end('SIGINT'));
}

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env, process.cwd());
  if (config.verb === 'serve') await serve(config);
  else if (config.verb === 'stop')
    process.exitCode = await stopService(config, compose, createLogger(config));
  else process.exitCode = await runDoctor(config);
}

main().catch((error) => {
  const { kind, message, stack } = asAppError(error);
  process.stderr.write(`hone: ${kind === 'internal' ? stack : message}\n`);
  process.exit(1);
});
