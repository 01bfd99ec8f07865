import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { createDiskReserve, type DiskReserve } from '../db/reserve.ts';
import { prepareDatabase, type Restoration } from '../db/restore.ts';
import { openStore, type Store } from '../db/store.ts';
import { createTrafficStore } from '../db/traffic-store.ts';
import { registerEvaluations } from '../domain/evaluations/evaluation-file.ts';
import { createFrameLog, type FrameLog, type Publish, skipFrames } from '../domain/events/frame-log.ts';
import { registerFolders } from '../domain/jobs/found-folders.ts';
import { registerSweeps } from '../domain/sweeps/sweep-file.ts';
import { createTraffic, type Traffic } from '../domain/traffic/traffic.ts';
import type { Logger } from '../logger.ts';

/** The open database. */
export interface Records {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly reserve: DiskReserve;
  /** The answers that clients asked to keep. */
  readonly traffic: Traffic;
  /** What happened to the database before this start, for the user; `null` if nothing. */
  readonly notice: string | null;
}

/** The migrations of an installation. */
export const migrationsDir = ({ installDir }: Pick<Config, 'installDir'>) =>
  join(installDir, 'src', 'db', 'migrations');

/**
 * Opens the database. One that is damaged or gone is replaced by its newest backup, and the jobs and models that are
 * only in folders are registered again; this is logged.
 */
export async function openRecords(config: Config, logger: Logger, publish: Publish): Promise<Records> {
  const { databasePath, jobsDir, modelsDir, evaluationsDir } = config;
  mkdirSync(dirname(databasePath), { recursive: true });
  const reserve = createDiskReserve(databasePath);
  reserve.release();
  const restoration = await prepareDatabase(databasePath, migrationsDir(config));
  const store = openStore(databasePath, migrationsDir(config));
  const isIncomplete =
    store.session.get('restored') === true ||
    (store.isUnused() &&
      [jobsDir, modelsDir, evaluationsDir].some((dir) => existsSync(dir) && readdirSync(dir).length > 0));
  if (isIncomplete) skipFrames(store);
  const frames = createFrameLog(store, publish);
  const registered = isIncomplete ? await registerAll(config, store, frames) : null;
  const notice =
    restoration === null && registered === null ? null : describe(config, restoration, registered);
  if (notice !== null) logger.warn({ databasePath, restoration, registered }, notice);
  reserve.keep();
  const answers = createTrafficStore(config.answersPath, join(config.installDir, 'src', 'db', 'traffic'));
  const traffic = createTraffic(answers, config.answers, (message) => logger.error(message));
  return { store, frames, reserve, traffic, notice };
}

/** Registers what folders and files tell. */
async function registerAll({ jobsDir, modelsDir, evaluationsDir }: Config, store: Store, frames: FrameLog) {
  const also = () => {
    store.session.set('restored', false);
    return {
      sweeps: registerSweeps(store.sweeps, jobsDir),
      evaluations: registerEvaluations(store.evaluations, evaluationsDir),
    };
  };
  const { also: others, ...found } = await registerFolders({ store, frames, jobsDir, modelsDir }, also);
  const { sweeps, evaluations } = others;
  return {
    ...found,
    sweeps: sweeps.registered,
    evaluations: evaluations.registered,
    dropped: [...found.dropped, ...evaluations.dropped],
    unreadable: [...found.unreadable, ...sweeps.unreadable, ...evaluations.unreadable],
  };
}

function describe(
  config: Config,
  restoration: Restoration | null,
  registered: Awaited<ReturnType<typeof registerAll>> | null,
): string {
  const sentences = [
    restoration === null
      ? `The database ${config.databasePath} was incomplete.`
      : `The database ${config.databasePath} could not be used: ${restoration.damage}.`,
  ];
  if (restoration !== null && restoration.setAside !== null)
    sentences.push(`It was moved to ${restoration.setAside}.`);
  if (restoration?.backup) {
    const time = restoration.backup.takenAt.toISOString();
    sentences.push(
      `The backup of ${time} is used instead. What changed after that time is lost, except for jobs, models, datasets, sweeps and evaluations, which have their own files: make the access keys again that were made since then. Those that were removed stay removed, and browsers have to sign in again.`,
    );
  } else if (restoration !== null) {
    sentences.push('There is no backup, so a new database was created.');
  }
  if (registered !== null) {
    const { jobs, models, sweeps, evaluations, dropped, unreadable } = registered;
    const count = (names: readonly unknown[], what: string) =>
      `${names.length} ${what}${names.length === 1 ? '' : 's'}`;
    sentences.push(
      `Registered again from their folders: ${count(jobs, 'job')} and ${count(models, 'model')}.`,
    );
    const others = [
      ...(sweeps.length > 0 ? [count(sweeps, 'sweep')] : []),
      ...(evaluations.length > 0 ? [count(evaluations, 'evaluation')] : []),
    ];
    if (others.length > 0) sentences.push(`The same is true of ${others.join(' and ')}.`);
    if (dropped.length > 0) sentences.push(`Their folders are gone: ${dropped.join(', ')}.`);
    for (const { folder, reason } of unreadable) sentences.push(`${folder} could not be read: ${reason}.`);
  }
  return sentences.join(' ');
}
