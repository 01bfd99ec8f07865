import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createFinetuneFace } from './api/finetune/face.ts';
import { createFlatFace } from './api/flat/face.ts';
import { createHoneFace } from './api/hone/face.ts';
import { trainingSocket } from './api/hone/socket.ts';
import { createOpenAiFace } from './api/openai/face.ts';
import { compose, version } from './compose.ts';
import type { Config } from './config.ts';
import { type InstanceLock, lockInstance } from './db/instance.ts';
import type { Services } from './domain/services.ts';
import { greet } from './domain/snapshot.ts';
import { AppError, asAppError } from './errors.ts';
import { createAssets } from './http/assets.ts';
import { chooseEngine, type EngineChoice } from './http/engines/choose.ts';
import { nativeFiles } from './http/engines/natives.ts';
import { buildOpenApi } from './http/openapi.ts';
import type { Face } from './http/route.ts';
import { createServer, type Server, type ServerOptions } from './http/server.ts';
import type { Logger } from './logger.ts';
import { portHolder } from './port-holder.ts';

/** The HTTP server's parts on this machine. */
export const chooseHttpEngine = (config: Config): Promise<EngineChoice> =>
  chooseEngine({
    wanted: config.httpEngine,
    natives: nativeFiles(config.installDir),
    trialProgram: join(config.installDir, 'dist', 'try-uws.js'),
    memoryPath: join(config.cacheDir, `http-engine-${process.versions.modules}.json`),
  });

/** `hone serve`: runs until it is stopped. @throws AppError `conflict` when another instance is running. */
export async function serve(config: Config, logger: Logger): Promise<void> {
  const { engine, reason } = await chooseHttpEngine(config);
  const lock = lockInstance(config.dataDir, config.databasePath);
  for (const dir of [config.datasetsDir, config.modelsDir, config.logsDir, config.jobsDir]) {
    if (dir !== null) mkdirSync(dir, { recursive: true });
  }
  let server: Server | null = null;
  const core = await compose(config, logger, (frame, droppable) =>
    server?.broadcast.publish(JSON.stringify(frame), droppable),
  );
  const http = { engine: engine.name, description: engine.description, reason };
  const services: Services = { ...core.services, http };
  server = createServer({
    engine,
    ...composeFaces(services),
    allowedHosts: config.allowedHosts,
    jsonLimitBytes: config.limits.jsonBytes,
    assets: createAssets(join(config.installDir, 'dist', 'ui')),
    socket: {
      path: trainingSocket.path,
      greet: (since) => greet(services, since),
      onCount: core.setListeners,
    },
    onError: (error, request) =>
      logger.error({ ...request, error: error.message, stack: error.stack }, 'A request failed'),
  });
  // Before uploads are possible: cleanup would delete a new upload as a leftover.
  await services.datasets.reconcile();
  announce(config, logger, lock, await listen(config, lock, server), http);
  endOnSignal(config, logger, lock, () => {
    server.close();
    return core.close();
  });
  services.registry.get().catch((error) => logger.error(asAppError(error).message));
  await services.jobs.recover();
}

function composeFaces(services: Services): Pick<ServerOptions, 'faces' | 'fallback'> {
  const faces: Face[] = [createFinetuneFace(services), createFlatFace(services), createOpenAiFace(services)];
  const hone = createHoneFace(services, () =>
    buildOpenApi(faces, { title: 'Hone', version: services.version }, trainingSocket),
  );
  faces.push(hone);
  return { faces, fallback: hone };
}

async function listen(config: Config, lock: InstanceLock, server: Server): Promise<number> {
  try {
    return await server.listen(config.host, config.port);
  } catch (error) {
    lock.release();
    const holder = await portHolder(config.port);
    throw new AppError(
      'conflict',
      `${asAppError(error).message}${holder === null ? '' : ` It is held by ${holder}.`} Choose another with --port.`,
    );
  }
}

/** Publishes the service's URL in the lock file and the log. */
function announce(
  { host, dataDir }: Config,
  logger: Logger,
  lock: InstanceLock,
  port: number,
  http: Services['http'],
): void {
  const isOpen = host === '0.0.0.0' || host === '::';
  const url = `http://${isOpen ? 'localhost' : host}:${port}`;
  lock.announce(url);
  logger.info(
    { url, host, port, dataDir, http },
    `Hone ${version} answers at ${url}, with ${http.description}${http.reason === null ? '' : ` (${http.reason})`}`,
  );
  if (isOpen) {
    logger.warn(
      `Listening on all interfaces: anyone on your network can use this service. Start it with --host 127.0.0.1 to keep it local.`,
    );
  }
}

/**
 * Ends the service on SIGTERM or SIGINT within its deadline; a training continues, which the last log line says.
 * @param close returns the name of the training that continues, or null.
 */
function endOnSignal(
  config: Config,
  logger: Logger,
  lock: InstanceLock,
  close: () => Promise<string | null>,
): void {
  let ending = false;
  const end = async (signal: string) => {
    if (ending) return;
    ending = true;
    logger.info({ signal }, 'Stopping the service');
    const deadline = setTimeout(() => process.exit(1), config.limits.shutdownMs);
    const training = await close();
    clearTimeout(deadline);
    lock.release();
    logger.info(
      training === null
        ? 'The service has stopped; no training is running.'
        : `The service has stopped; training ${training} goes on. Start Hone again to follow it, or run "hone stop" to stop it.`,
    );
    process.exit(0);
  };
  process.on('SIGTERM', () => void end('SIGTERM'));
  process.on('SIGINT', () => void end('SIGINT'));
}
