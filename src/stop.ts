import { fetchLocal, type LocalService, readLocalService } from './client/local-service.ts';
import { compose } from './compose.ts';
import type { Config } from './config.ts';
import { lockInstance, readInstance } from './db/instance.ts';
import { jobName } from './domain/job-record/job.ts';
import { AppError } from './errors.ts';
import type { Logger } from './logger.ts';

/**
 * `hone stop`: stops the training like `/api/stop_training`, through the running service or directly.
 * @returns the exit code: 0 when a training was stopped, 1 when there was none.
 */
export async function stopService(config: Config, logger: Logger): Promise<number> {
  let lock: ReturnType<typeof lockInstance>;
  try {
    lock = lockInstance(config.dataDir, config.databasePath);
  } catch (error) {
    const service = readLocalService(config.dataDir);
    // A service that is just starting has written nothing yet.
    if (service === null || service.pid !== readInstance(config.dataDir)?.pid) throw error;
    return stopThrough(service);
  }
  const { services, close } = await compose(config, logger, () => undefined);
  try {
    const job = services.jobs.unfinished();
    if (job === null) {
      process.stdout.write('hone: no training is in progress.\n');
      return 1;
    }
    process.stdout.write(`hone: stopping ${jobName(job.id)} …\n`);
    await services.jobs.recover();
    // The training may have ended in the meantime.
    const ended =
      services.jobs.unfinished() === null ? services.jobs.get(job.id) : await services.jobs.stop();
    process.stdout.write(`hone: ${jobName(ended.id)} is ${ended.state}.\n`);
    return 0;
  } finally {
    await close();
    lock.release();
  }
}

async function stopThrough(service: LocalService): Promise<number> {
  const response = await fetchLocal(service, '/api/stop_training', { method: 'POST' });
  const body = (await response.json()) as { message?: string; detail?: string };
  if (response.status === 409) {
    process.stdout.write(`hone: ${body.detail}\n`);
    return 1;
  }
  if (!response.ok)
    throw new AppError(
      'unavailable',
      `The service at ${service.url} answered ${response.status}: ${body.detail}`,
    );
  process.stdout.write(`hone: ${body.message}.\n`);
  return 0;
}
