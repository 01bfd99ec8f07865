import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createAnthropicFace } from '../api/anthropic/face.ts';
import { createFinetuneFace } from '../api/finetune/face.ts';
import { createFlatFace } from '../api/flat/face.ts';
import { createHoneFace } from '../api/hone/face.ts';
import { trainingSocket } from '../api/hone/frames/socket.ts';
import { createMcpFace } from '../api/mcp/face.ts';
import { createOpenAiFace } from '../api/openai/face.ts';
import { removeLocalService, writeLocalService } from '../client/local-service.ts';
import { composeCore } from '../compose/core.ts';
import { composeGate } from '../compose/gate.ts';
import { chooseHttpEngine } from '../compose/http-engine.ts';
import type { Config } from '../config.ts';
import { type InstanceLock, lockInstance } from '../db/instance.ts';
import type { Services } from '../domain/services.ts';
import { greet, replay } from '../domain/snapshot.ts';
import { AppError, asAppError } from '../errors.ts';
import { isLocalHost } from '../http/access/peers.ts';
import { createAssets } from '../http/assets.ts';
import { readTls } from '../http/engines/tls.ts';
import { buildOpenApi } from '../http/openapi.ts';
import type { Face } from '../http/route.ts';
import { createServer, type Server, type ServerOptions } from '../http/server.ts';
import type { Logger } from '../logger.ts';
import { version } from '../version.ts';
import { tellAccess } from './first-key.ts';
import { portHolder } from './port-holder.ts';

/** A service that answers. */
export interface OpenService {
  readonly url: string;
  /** Follows the trainings of an earlier service again, and does what is waiting. */
  recover(): Promise<void>;
  /** Ends it, but no training. @returns the names of the trainings that continue. */
  close(): Promise<string[]>;
}

/** `hone serve`: runs until it is stopped. @throws AppError `conflict` when another instance is running. */
export async function serve(config: Config, logger: Logger): Promise<void> {
  const { close, recover } = await openService(config, logger);
  endOnSignal(config, logger, close);
  await recover();
}

/** Opens the data directory and the port. @throws AppError `conflict` when another instance is running. */
export async function openService(config: Config, logger: Logger): Promise<OpenService> {
  const tls = config.tls === null ? null : readTls(config.tls);
  const { engine, reason } = await chooseHttpEngine(config, tls);
  const lock = lockInstance(config.dataDir, config.databasePath);
  for (const dir of [config.datasetsDir, config.modelsDir, config.logsDir, config.jobsDir]) {
    if (dir !== null) mkdirSync(dir, { recursive: true });
  }
  let server: Server | null = null;
  const core = await composeCore(config, logger, (frame, traits) =>
    server?.broadcast.publish({ seq: frame.seq, text: JSON.stringify(frame), ...traits }),
  );
  const http = { engine: engine.name, description: engine.description, reason };
  const services: Services = {
    ...core.services,
    http,
    reachable: !isLocalHost(config.host),
    tls: tls !== null,
  };
  server = createServer({
    engine,
    ...composeFaces(services, (outer, request) => (server as Server).ask(outer, request)),
    allowedHosts: config.allowedHosts,
    allowedOrigins: config.allowedOrigins,
    trustedProxies: config.trustedProxies,
    gate: composeGate(config, services.access),
    jsonLimitBytes: config.limits.jsonBytes,
    assets: createAssets(join(config.installDir, 'dist', 'ui')),
    socket: {
      path: trainingSocket.path,
      greet: (since) => greet(services, since),
      replay: (since) => replay(services, since),
      onCount: core.setListeners,
    },
    onError: (error, request) =>
      logger.error(
        {
          ...request,
          error: error.message,
          stack: (error.cause instanceof Error ? error.cause : error).stack,
        },
        'A request failed',
      ),
  });
  // Before uploads are possible: cleanup would delete a new upload as a leftover.
  await services.datasets.reconcile();
  // Before evaluations are: it would take a new one for what a killed service left.
  await services.evaluations.recover();
  const url = urlOf(config, await listen(config, lock, server));
  lock.announce(url);
  const own = { pid: process.pid, url, key: services.access.ownKey, certificate: tls?.fingerprint ?? null };
  tryToWrite(logger, () => writeLocalService(config.dataDir, own));
  logger.info(
    { url, host: config.host, port: Number(new URL(url).port), dataDir: config.dataDir, http },
    `Hone ${version} answers at ${url}, with ${http.description}${reason === null ? '' : ` (${reason})`}`,
  );
  tryToWrite(logger, () => tellAccess(config, services, logger, url));
  return {
    url,
    async recover() {
      services.registry.get().catch((error) => logger.error(asAppError(error).message));
      await services.jobs.recover();
      services.sweeps.recover();
      services.evaluations.reconsider();
      services.evals.runs.resume();
      services.documentRows.recover();
      tidyEvery(config.limits.tidyMs, services, logger);
      // After the port is open, because there may be thousands.
      await services.models.describe();
    },
    async close() {
      server.close();
      try {
        return await core.close();
      } finally {
        removeLocalService(config.dataDir);
        lock.release();
      }
    },
  };
}

/** Deletes what has expired, now and regularly. */
function tidyEvery(everyMs: number, { bin, fineTuningFiles, traffic }: Services, logger: Logger): void {
  const tidy = () =>
    Promise.all([fineTuningFiles.tidy(), bin.tidy(), traffic.tidy()]).catch((error) =>
      logger.warn(`Expired files could not be deleted: ${asAppError(error).message}`),
    );
  void tidy();
  setInterval(tidy, everyMs).unref();
}

/** A full disk must not keep the service from starting, so that things can be deleted. */
function tryToWrite(logger: Logger, write: () => void): void {
  try {
    write();
  } catch (error) {
    logger.error(`No access key could be written: ${asAppError(error).message}`);
  }
}

function composeFaces(services: Services, ask: Server['ask']): Pick<ServerOptions, 'faces' | 'fallback'> {
  const described: Face[] = [
    ...[createFinetuneFace(services), createFlatFace(services), createOpenAiFace(services)],
    createAnthropicFace(services),
  ];
  const { version, access } = services;
  const openApi = () =>
    buildOpenApi(described, { title: 'Hone', version }, trainingSocket, access.cookieName);
  const hone = createHoneFace(services, openApi);
  described.push(hone);
  // Its methods describe themselves.
  return { faces: [...described, createMcpFace(version, openApi, ask)], fallback: hone };
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

/** The service's URL for this machine. */
function urlOf({ host, tls }: Config, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tls === null ? 'http' : 'https'}://${name}:${port}`;
}

/**
 * Ends the service on SIGTERM or SIGINT within its deadline; trainings continue, which the last log line says.
 * @param close returns the names of the trainings that continue.
 */
function endOnSignal(config: Config, logger: Logger, close: () => Promise<string[]>): void {
  let ending = false;
  const end = async (signal: string) => {
    if (ending) return;
    ending = true;
    logger.info({ signal }, 'Stopping the service');
    const deadline = setTimeout(() => {
      removeLocalService(config.dataDir);
      process.exit(1);
    }, config.limits.shutdownMs);
    const trainings = await close().catch((error) => {
      logger.error(
        { error: asAppError(error).message, stack: error?.stack },
        'The end of the service failed',
      );
      return null;
    });
    clearTimeout(deadline);
    if (trainings !== null) logger.info(`The service has stopped; ${continued(trainings)}`);
    process.exit(trainings === null ? 1 : 0);
  };
  process.on('SIGTERM', () => void end('SIGTERM'));
  process.on('SIGINT', () => void end('SIGINT'));
}

/** A sentence about the trainings that continue. */
function continued(names: readonly string[]): string {
  if (names.length === 0) return 'no training is running.';
  const [continues, them] =
    names.length === 1
      ? [`training ${names[0]} continues`, 'it']
      : [`trainings ${names.join(', ')} continue`, 'them'];
  return `${continues}. Start Hone again to follow ${them}, or run "hone stop" to stop ${them}.`;
}
