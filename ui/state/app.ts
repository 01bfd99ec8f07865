import type { JobState } from '../../src/contract/jobs.ts';
import type { AnalysisFrame, Frame, HardwareSample, ModelExportFrame, ModelFrame } from '../api/frames.ts';
import { service } from '../api/service.ts';
import { type Connection, LiveSocket } from '../api/socket.ts';
import type {
  Alias,
  Choices,
  Dataset,
  EvaluationSummary,
  Example,
  Grader,
  HardwareSpecs,
  Import,
  Info,
  JobPage,
  LocalModel,
  Model,
  RecommendedSettings,
  SweepSummary,
} from '../api/types.ts';
import { Remote, WatchedRemote } from './remote.ts';
import { Router } from './router.ts';
import { isActive } from './runs/job-words.ts';
import { paced } from './runs/pace.ts';
import { Run } from './runs/run.ts';
import { openSession, untilSignedIn } from './session.ts';
import { Store } from './store.ts';
import { Toasts } from './toasts.ts';

/** How many of the newest runs the pages share. */
const newestRuns = 200;
/** How long the initial load waits for the socket. */
const socketPatienceMs = 1_000;
/** How often the lists are read again while names change. */
const renamedMs = 500;
/** Number of runs kept in memory besides the current one. */
const keptRuns = 6;

export const router = new Router();
export const toasts = new Toasts();
export const connection = new Store<Connection>({ state: 'connecting' });
export const info = new Remote<Info>(service.info);
export const hardware = new Remote<HardwareSpecs>(service.hardware);
export const settings = new Remote<RecommendedSettings>(service.settings);
/** The values that some settings accept. */
export const choices = new Remote<Choices>(service.choices);
/** The built-in examples. */
export const examples = new Remote<Example[]>(service.examples);
export const datasets = new Remote<Dataset[]>(service.datasets);
export const models = new WatchedRemote<Model[]>(service.models);
/** The base models on this machine, which a page reads again that shows them: there are no frames for them. */
export const baseModels = new Remote<LocalModel[]>(service.baseModels);
/** Whether a model is still there, as far as is known. */
export const isKept = (modelId: string): boolean =>
  models.value.value?.some((model) => model.model_id === modelId) ?? true;

/** The newest runs. */
export const jobs = new Remote<JobPage>(() => service.jobs({ limit: newestRuns }));
/** The current job: the running one, or the latest that was not reset. */
export const currentJobId = new Store<string | null>(null);
/** The latest frame, other than live metrics of the machine. */
export const latest = new Store<Frame | null>(null);
/** Live metrics of the machine; `null` before the first sample. */
export const sample = new Store<HardwareSample | null>(null);

/** The latest frame of an export of a kept model. */
export const exported = new Store<ModelExportFrame | null>(null);
/** The latest frame of an analysis of a dataset. */
export const analysed = new Store<AnalysisFrame | null>(null);
/** The latest frame of a push to the hub. */
export const pushed = new Store<ModelFrame | null>(null);

/** The imports since the start of the service. */
export const imports = new Remote<Import[]>(service.imports);

/** The sweeps, newest first. */
export const sweeps = new Remote<SweepSummary[]>(service.sweeps);

/** The graders by name. */
export const graders = new Remote<Grader[]>(service.graders);

/** The evaluations, newest first. */
export const evaluations = new Remote<EvaluationSummary[]>(service.evaluations);

/** Names that move from model to model. */
export const aliases = new Remote<Alias[]>(service.aliases);

/** The runs that occupy the machine, as far as frames have told, the longest-running first. */
const active = new Set<string>();

/** Follows the state of a run; the run that is shown is replaced once it has ended. */
function follow(jobId: string, state: JobState): void {
  if (state === 'queued') {
    if (currentJobId.value === null) currentJobId.set(jobId);
    return;
  }
  if (isActive(state)) active.add(jobId);
  else active.delete(jobId);
  if (currentJobId.value === null || !active.has(currentJobId.value)) {
    // One that nothing was told of since the page was opened.
    const going = jobs.value.value?.jobs.findLast(
      (job) => job.job_id !== jobId && isActive(job.state) && job.state !== 'queued',
    );
    currentJobId.set([...active][0] ?? going?.job_id ?? jobId);
  }
}

const runs = new Map<string, Run>();
/** Whether runs are loaded: from the socket's snapshot on, so that no change is missed in between, or without a socket. */
let isLoading = false;

/** A job's run, loaded on first use. */
export function runOf(jobId: string): Run {
  let run = runs.get(jobId);
  if (run === undefined) {
    run = new Run(jobId);
    runs.set(jobId, run);
    if (isLoading) void run.load();
    for (const other of runs.keys()) {
      if (runs.size <= keptRuns) break;
      if (other !== jobId && other !== currentJobId.value) runs.delete(other);
    }
  }
  return run;
}

function loadRuns(): void {
  isLoading = true;
  for (const run of runs.values()) if (!run.isUnknown) void run.load();
}

/** Notes that a run was deleted. */
export function forgetRun(jobId: string, how: 'deleted' | 'discarded'): void {
  // It is kept, so that a page that still shows it does not ask for it again.
  runs.get(jobId)?.forget(how);
  if (currentJobId.value === jobId) currentJobId.set(null);
  void jobs.refresh();
}

/** Notes that a run that was deleted is back. */
export function recallRun(jobId: string): void {
  if (runs.get(jobId)?.value.gone !== undefined) runs.delete(jobId);
  void jobs.refresh();
}

function take(frame: Frame): void {
  if (frame.type !== 'gpu') latest.set(frame);
  if (frame.type === 'snapshot') {
    active.clear();
    if (frame.job_id !== undefined && isActive(frame.state)) active.add(frame.job_id);
    currentJobId.set(frame.job_id ?? null);
    // Reload what may have changed while disconnected.
    void jobs.refresh();
    models.renew();
    loadRuns();
    return;
  }
  if (frame.type === 'gpu') {
    sample.set(frame);
    return;
  }
  if (frame.type === 'identity') {
    const run = runs.get(frame.job_id ?? '');
    // One that is told of after its deletion was restored.
    if (run?.value.gone !== undefined) recallRun(frame.job_id ?? '');
    else run?.identify(frame);
    renamed.ask();
    return;
  }
  if (
    frame.type === 'sweep' ||
    frame.type === 'evaluation' ||
    frame.type === 'import' ||
    frame.type === 'download'
  )
    return;
  if (frame.type === 'analysis') {
    analysed.set(frame);
    // The list tells in how many rows something was found.
    if (frame.what === 'duplicates' && frame.done === frame.total && datasets.value.value !== null)
      void datasets.refresh();
    return;
  }
  if (frame.type === 'model') {
    if (frame.action === 'push') pushed.set(frame);
    else models.renew();
  }
  if (frame.type === 'export' && frame.model_id !== undefined) {
    exported.set(frame);
    // One that failed may have made some of its types.
    if (frame.export !== undefined) models.renew();
    return;
  }
  if (frame.type === 'status') {
    if (frame.state === 'deleted') {
      // Its own record notifies those that show it.
      runs.get(frame.job_id)?.take(frame);
      if (currentJobId.value === frame.job_id) currentJobId.set(null);
      void jobs.refresh();
      return;
    }
    void jobs.refresh();
    if (frame.job_id !== undefined) follow(frame.job_id, frame.state);
  }
  if (frame.job_id !== undefined) runs.get(frame.job_id)?.take(frame);
}

/** Reads the shared lists again after a change of names; several at once are many. */
const renamed = paced(() => {
  void jobs.refresh();
  models.renew();
}, renamedMs);

/** Loads the shared lists and the runs unless they are loaded. */
function ensureLoaded(): void {
  if (!isLoading) loadRuns();
  jobs.ensure();
  if (models.value.value === null && !models.value.loading) models.renew();
  choices.ensure();
}

/** Connects the page to its service. */
export function connect(): void {
  openSession();
  // The socket's snapshot triggers loading the lists and the runs, so that no change is missed in between. Without a socket
  // they are loaded after a timeout.
  const tell = (next: Connection) => {
    connection.set(next);
    if (next.state !== 'live') ensureLoaded();
  };
  new LiveSocket(take, tell, untilSignedIn).start();
  setTimeout(ensureLoaded, socketPatienceMs);
  // There are no frames for datasets, which another tab or program may have changed.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible' && datasets.value.value !== null) void datasets.refresh();
  });
}
