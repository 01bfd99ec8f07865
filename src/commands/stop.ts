import { fetchLocal, type LocalService, readLocalService } from '../client/local-service.ts';
import { composeCore } from '../compose/core.ts';
import type { Config } from '../config.ts';
import { activeStates, unfinishedStates } from '../contract/jobs.ts';
import { lockInstance, readInstance } from '../db/instance.ts';
import { type Job, jobName } from '../domain/job-record/job.ts';
import type { Jobs } from '../domain/jobs/jobs.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/**
 * `hone stop`: stops the training like `/api/stop_training`, through the running service or directly; several that run
 * at once are all stopped.
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
  const { services, close } = await composeCore(config, logger, () => undefined);
  try {
    const underway = services.jobs.underway().map(({ id }) => id);
    if (underway.length === 0) {
      process.stdout.write('hone: no training is in progress.\n');
      return 1;
    }
    process.stdout.write(`hone: stopping ${underway.map(jobName).join(', ')} …\n`);
    await services.jobs.recover();
    for (const job of await Promise.all(underway.map((id) => stopUnlessEnded(services.jobs, id)))) {
      process.stdout.write(`hone: ${jobName(job.id)} is ${job.state}.\n`);
    }
    return 0;
  } finally {
    await close();
    lock.release();
  }
}

/** Stops a job, which may have ended in the meantime. */
async function stopUnlessEnded(jobs: Jobs, id: number): Promise<Job> {
  return unfinishedStates.includes(jobs.get(id).state) ? jobs.stop(id) : jobs.get(id);
}

async function stopThrough(service: LocalService): Promise<number> {
  const several = await runningJobs(service);
  if (several.length > 1) {
    await Promise.all(several.map((name) => stopJob(service, name)));
    return 0;
  }
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

/** The names of the jobs that occupy the machine. */
async function runningJobs(service: LocalService): Promise<string[]> {
  const response = await fetchLocal(service, `/api/jobs?state=${activeStates.join(',')}`);
  const { jobs = [] } = (await response.json()) as { jobs?: { job_id: string }[] };
  return jobs.map(({ job_id: name }) => name);
}

async function stopJob(service: LocalService, name: string): Promise<void> {
  const response = await fetchLocal(service, `/api/jobs/${name}/stop`, { method: 'POST' });
  const { state, detail } = (await response.json()) as { state?: string; detail?: string };
  // 409: it has ended in the meantime.
  process.stdout.write(`hone: ${response.ok ? `${name} is ${state}.` : detail}\n`);
}
