import { asAppError } from '../../errors.ts';
import type { OpenAiAccess } from '../../openai-source/access.ts';
import { listEvals, listFiles, listJobs, readFile, readMetrics } from '../../openai-source/openai-source.ts';
import type { SourceObject } from '../../openai-source/schemas.ts';
import type { MovedEval, MovedJob, MovedRecords } from './moved-records.ts';
import { lostFile, toMovedFile, toMovedJob } from './source-records.ts';

/**
 * Lists the fine-tuning files and jobs, and the evals, of the other service.
 * @param before what earlier moves brought, which stays known.
 */
export async function readLists(access: OpenAiAccess, before: MovedRecords): Promise<MovedRecords> {
  const [files, jobs] = [await listFiles(access), await listJobs(access)];
  const fileBefore = new Map(before.files.map((file) => [file.id, file]));
  const jobBefore = new Map(before.jobs.map((job) => [job.id, job]));
  const listed = files
    .filter(({ purpose }) => purpose === 'fine-tune')
    .map((file) => toMovedFile(file, fileBefore.get(file.id)));
  const moved: MovedJob[] = [];
  for (const job of jobs) {
    const made = toMovedJob(job, jobBefore.get(job.id));
    const isNew = made.metrics === null && made.status === 'succeeded';
    moved.push(isNew ? { ...made, metrics: await unlessMissing(readMetrics(access, job.id)) } : made);
  }
  const ids = new Set(listed.map(({ id }) => id));
  for (const job of moved) {
    for (const id of [job.training_file, job.validation_file]) {
      if (id === null || ids.has(id)) continue;
      ids.add(id);
      const found = await unlessMissing(readFile(access, id));
      const earlier = fileBefore.get(id);
      if (found !== null) listed.push(toMovedFile(found, earlier));
      else if (earlier?.state === 'stored') listed.push(earlier);
      else listed.push(lostFile(id, `The file ${id} was deleted or has expired there.`));
    }
  }
  // What the other service no longer lists stays known if it is here.
  const kept = before.files.filter((file) => file.state === 'stored' && !ids.has(file.id));
  const jobIds = new Set(moved.map(({ id }) => id));
  const gone = before.jobs.filter(({ id }) => !jobIds.has(id));
  return {
    files: [...listed, ...kept],
    jobs: [...moved, ...gone],
    evals: await readEvals(access, before.evals),
  };
}

/** The evals; none where the other service has none, or none any more. */
async function readEvals(access: OpenAiAccess, before: readonly MovedEval[]): Promise<MovedEval[]> {
  const stored = before.filter(({ state }) => state === 'stored');
  let found: SourceObject[];
  try {
    found = (await unlessMissing(listEvals(access))) ?? [];
  } catch (thrown) {
    const { message, details } = asAppError(thrown);
    if (details.code !== 'forbidden' && details.code !== 'refused') throw thrown;
    // Files and jobs can be had without the permission to read evals.
    return [...stored, { id: 'evals', name: '', state: 'unavailable', runs: 0, problem: message }];
  }
  const ids = new Set(found.map(({ id }) => id));
  const listed = found.map(({ id, name }): MovedEval => {
    const earlier = stored.find((one) => one.id === id) ?? { id, state: 'listed', runs: 0, problem: null };
    return { ...earlier, name: typeof name === 'string' ? name : '' };
  });
  return [...listed, ...stored.filter(({ id }) => !ids.has(id))];
}

/** A result, or `null` if the other service has none. */
async function unlessMissing<T>(result: Promise<T>): Promise<T | null> {
  try {
    return await result;
  } catch (error) {
    if (asAppError(error).details.code === 'missing') return null;
    throw error;
  }
}
