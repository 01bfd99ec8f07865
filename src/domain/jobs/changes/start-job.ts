import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobState } from '../../../contract/jobs.ts';
import type { Store } from '../../../db/store.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import { locateBase } from '../../base-models/adapter-base.ts';
import { adapterWeights } from '../../base-models/files/weight-files.ts';
import { parentError } from '../../base-models/parent.ts';
import { type Job, jobName } from '../../job-record/job.ts';
import { newName } from '../../job-record/new-name.ts';
import { writeSpec } from '../../training/job-spec.ts';
import { type JudgedRequest, judgeRequest } from '../../training/judge-request.ts';
import type { TrainingRequest } from '../../training/training-request.ts';
import { writeAsked } from '../asked-file.ts';
import { writeIdentity } from '../identity-file.ts';
import { statusPayload } from '../job-journal.ts';
import { admission } from './admission.ts';
import type { JobParts } from './job-parts.ts';

/** Where a job has its own copy of the adapter that it goes on from (trainer/protocol/contracts.py). */
const parentFolder = 'parent';

/** A job that was started, with its warnings. */
export interface Started {
  readonly job: Job;
  readonly warnings: readonly string[];
}

/**
 * Starts a job, as `Jobs.start`.
 * @param also runs in the transaction that stores the job.
 * @param mayDefine see `judgeRequest`.
 */
export async function startJob(
  parts: JobParts,
  request: TrainingRequest,
  also: (job: Pick<Job, 'id' | 'modelId'>) => void = () => {},
  mayDefine = false,
): Promise<Started> {
  const { store, frames, records, runs, folder, judges, checkDisk } = parts;
  const admit = await admission(parts, request.queue ?? false);
  admit(request.workers ?? 1);
  const judged = await withMerge(await judgeRequest(request, judges, mayDefine));
  await checkDisk(judged);
  const id = store.transaction(() => {
    admit(judged.settings.workers);
    const modelId = randomUUID();
    const inserted = store.jobs.insert({
      modelId,
      state: 'queued' satisfies JobState,
      task: request.task,
      provider: judged.provider,
      strategy: judged.strategy,
      modelName: judged.request.model_name,
      datasetName: judged.data.name,
      createdAt: new Date().toISOString(),
      displayName: nameOf(store, judged),
    });
    also({ id: inserted, modelId });
    return inserted;
  });
  try {
    await writeFolder(parts, id, judged);
  } catch (error) {
    store.jobs.remove(id);
    await rm(folder(id), { recursive: true, force: true });
    throw error;
  }
  frames.commit((emit) => emit('status', id, statusPayload(records.get(id))));
  await runs.launchNext();
  return { job: records.get(id), warnings: judged.warnings };
}

/** A request with the folder of the adapter that it merges first, which it was judged without. */
async function withMerge(judged: JudgedRequest): Promise<JudgedRequest> {
  const { make, request, base } = judged;
  if (make === null) return judged;
  const model_name = await make();
  return {
    ...judged,
    request: { ...request, model_name },
    base: { ...base, ...(await locateBase(model_name, true)) },
  };
}

async function writeFolder({ store, records, folder, places }: JobParts, id: number, judged: JudgedRequest) {
  const { logsDir, tools } = places;
  store.jobs.update(id, {
    spec: await writeSpec(judged, { name: jobName(id), folder: folder(id), logsDir, tools }),
  });
  if (judged.start !== null) {
    await mkdir(join(folder(id), parentFolder));
    await copyFile(join(judged.start, adapterWeights), join(folder(id), parentFolder, adapterWeights)).catch(
      (error) => {
        throw parentError(error, judged.base.parent?.name ?? judged.request.model_name);
      },
    );
  }
  // Its name depends on earlier runs.
  writeIdentity(folder(id), records.get(id));
  const asked = store.fineTuning.getJob(id);
  if (asked !== null) writeAsked(folder(id), asked);
}

/** What a new run is called. */
function nameOf(store: Store, { request, data, settings }: JudgedRequest): string {
  const modelName = request.model_name;
  return newName(
    { modelName, datasetName: data.name, settings: { ...settings } },
    {
      named: store.jobs.named,
      madeWith(earlier) {
        const job = store.jobs.get(earlier) as Job | null;
        const spec = job?.spec as Partial<Pick<JobSpec, 'settings'>> | null | undefined;
        return job === null ? null : { modelName: job.modelName, settings: { ...spec?.settings } };
      },
    },
  );
}
