import { AppError, asAppError } from '../../errors.ts';
import type { OpenAiAccess, OpenAiPatience } from '../../openai-source/access.ts';
import { download, listFiles, listJobs, readFile, readMetrics } from '../../openai-source/openai-source.ts';
import type { Dataset, Datasets } from '../datasets/datasets.ts';
import type { Imports } from '../datasets/imports/imports.ts';
import {
  type MovedFile,
  type MovedJob,
  type MovedRecords,
  readRecords,
  writeRecords,
} from './moved-records.ts';
import { type Proposal, type ProposalContext, propose } from './proposal.ts';
import { lostFile, toMovedFile, toMovedJob } from './source-records.ts';

export const moveStates = ['idle', 'listing', 'downloading', 'completed', 'failed', 'cancelled'] as const;
export type MoveState = (typeof moveStates)[number];

/** A job that was moved, with the equal training here, or why there is none. */
export interface JobHere extends MovedJob {
  readonly training_dataset: string | null;
  readonly validation_dataset: string | null;
  readonly proposal: Proposal | null;
  readonly problem: string | null;
}

/** A move, and everything that this and earlier ones brought. */
export interface Move {
  readonly state: MoveState;
  readonly progress: {
    readonly files_done: number;
    readonly files_total: number;
    readonly bytes_done: number;
    readonly bytes_total: number;
  };
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly files: readonly MovedFile[];
  readonly jobs: readonly JobHere[];
}

/** What to download; both absent for everything. */
export interface MoveChoice {
  readonly jobs?: readonly string[] | undefined;
  readonly files?: readonly string[] | undefined;
}

/** Brings the user's own fine-tuning files and jobs from OpenAI. A key is used for one run and never stored. */
export interface Moving {
  move(): Promise<Move>;
  /** Lists jobs and files without downloading any. @throws AppError `conflict` while a move runs. */
  list(key: string): Promise<Move>;
  /** Starts to list and download what is not here yet. @throws AppError `conflict` while a move runs. */
  start(key: string, choice: MoveChoice): Promise<Move>;
  /** Ends a running move; what is stored is kept. */
  cancel(): Promise<Move>;
}

const nothing = { files_done: 0, files_total: 0, bytes_done: 0, bytes_total: 0 };

export function createMoving(options: {
  readonly baseUrl: string;
  readonly patience: OpenAiPatience;
  readonly datasets: Datasets;
  readonly imports: Imports;
  /** Where the records of moves are kept. */
  readonly recordsPath: string;
  /** The base model and settings that are recommended for this machine. */
  readonly recommend: () => Promise<Pick<ProposalContext, 'baseModel' | 'recommended'>>;
}): Moving {
  const { datasets, recordsPath } = options;
  let state: MoveState = 'idle';
  let progress: Move['progress'] = nothing;
  let error: Move['error'] = null;
  let records: Promise<{ files: MovedFile[]; jobs: MovedJob[] }> | null = null;
  let run: { readonly controller: AbortController; readonly ended: Promise<void> } | null = null;

  const known = () => (records ??= readRecords(recordsPath));
  const save = async (changed: MovedRecords) => {
    records = Promise.resolve({ files: [...changed.files], jobs: [...changed.jobs] });
    await writeRecords(recordsPath, changed);
  };
  /** The dataset of a file, unless it was deleted. */
  const datasetOf = (file: MovedFile | undefined) =>
    datasets.list().find(({ name }) => file?.dataset != null && name === file.dataset) ?? null;

  async function move(): Promise<Move> {
    const context = await options.recommend();
    // Taken together: a move may go on during the awaits.
    const now = { state, progress, error };
    const { files, jobs } = await known();
    const byId = new Map(files.map((file) => [file.id, file]));
    return {
      ...now,
      files: files.map((file) =>
        file.state === 'stored' && datasetOf(file) === null
          ? { ...file, state: 'listed' as const, dataset: null }
          : file,
      ),
      jobs: jobs.map((job) => {
        const training = datasetOf(byId.get(job.training_file));
        const validation = job.validation_file === null ? null : datasetOf(byId.get(job.validation_file));
        const proposed =
          training?.validation.valid === true
            ? propose(job, {
                ...context,
                training,
                validation: validation?.validation.valid ? validation : null,
              })
            : (byId.get(job.training_file)?.problem ?? 'Its training file is not here yet.');
        return {
          ...job,
          training_dataset: training?.name ?? null,
          validation_dataset: validation?.name ?? null,
          proposal: typeof proposed === 'string' ? null : proposed,
          problem: typeof proposed === 'string' ? proposed : null,
        };
      }),
    };
  }

  /** Runs `work` as the only move. */
  function begin(key: string, work: (access: OpenAiAccess) => Promise<void>): Promise<void> {
    if (run !== null) {
      throw new AppError(
        'conflict',
        'A move from OpenAI is in progress. Wait until it has ended, or cancel it.',
      );
    }
    const controller = new AbortController();
    const { baseUrl, patience } = options;
    state = 'listing';
    error = null;
    progress = nothing;
    const ended = work({ baseUrl, key, patience, signal: controller.signal })
      .then(
        () => {
          state = 'completed';
        },
        (thrown) => {
          state = controller.signal.aborted ? 'cancelled' : 'failed';
          if (controller.signal.aborted) return;
          const { kind, message, details } = asAppError(thrown);
          const code = typeof details.code === 'string' ? details.code : kind;
          error = { code, message: message.replaceAll(key, '<API key>') };
        },
      )
      .finally(() => {
        run = null;
      });
    run = { controller, ended };
    return ended;
  }

  async function readLists(access: OpenAiAccess): Promise<void> {
    const before = await known();
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
    await save({ files: [...listed, ...kept], jobs: [...moved, ...gone] });
  }

  async function fetchFiles(access: OpenAiAccess, choice: MoveChoice): Promise<void> {
    const { files, jobs } = await known();
    const all = choice.jobs === undefined && choice.files === undefined;
    const chosen = new Set([
      ...(choice.files ?? []),
      ...jobs
        .filter(({ id }) => choice.jobs?.includes(id))
        .flatMap(({ training_file, validation_file }) => [training_file, validation_file]),
    ]);
    const wanted = files.filter((file) => all || chosen.has(file.id));
    const missing = wanted.filter(
      (file) => file.state !== 'unavailable' && (file.state !== 'stored' || datasetOf(file) === null),
    );
    const sum = (list: readonly MovedFile[]) => list.reduce((bytes, file) => bytes + file.bytes, 0);
    const here = wanted.filter((file) => !missing.includes(file));
    progress = {
      files_done: here.length,
      files_total: wanted.length,
      bytes_done: sum(here),
      bytes_total: sum(wanted),
    };
    state = 'downloading';
    for (const file of missing) {
      const before = progress;
      await replace({ ...file, state: 'downloading' }, false);
      let moved: MovedFile;
      try {
        moved = await fetchFile(access, file, (bytes) => {
          progress = { ...before, bytes_done: before.bytes_done + bytes };
        });
      } catch (thrown) {
        await replace({ ...file, state: 'listed' }, false);
        throw thrown;
      }
      await replace(moved, true);
      progress = {
        ...before,
        files_done: before.files_done + 1,
        bytes_done: before.bytes_done + file.bytes,
      };
    }
  }

  /** Changes the record of a file; while it is downloaded, in memory only. */
  async function replace(file: MovedFile, isStored: boolean): Promise<void> {
    const { files, jobs } = await known();
    const changed = { files: files.map((one) => (one.id === file.id ? file : one)), jobs };
    if (isStored) await save(changed);
    else records = Promise.resolve(changed);
  }

  /** Stores a file as a dataset. A file that cannot be had is told, and the others go on. */
  async function fetchFile(
    access: OpenAiAccess,
    file: MovedFile,
    onBytes: (bytes: number) => void,
  ): Promise<MovedFile> {
    const named = file.filename || file.id;
    const filename = /\.jsonl$/i.test(named) ? named : `${named}.jsonl`;
    try {
      const dataset = await download(access, file, (pieces) =>
        datasets.upload(filename, counted(pieces, onBytes), { keepOthers: true }),
      );
      return { ...file, state: 'stored', ...(await usable(dataset)) };
    } catch (thrown) {
      const { kind, message, details } = asAppError(thrown);
      const isOwn = details.code === 'missing' || details.code === 'refused' || kind === 'invalid';
      if (!isOwn || access.signal.aborted) throw thrown;
      return { ...file, state: 'unavailable', problem: message };
    }
  }

  /** The dataset of a file, converted if its rows are in another format, and what is wrong with it. */
  async function usable({ name, validation }: Dataset): Promise<Pick<MovedFile, 'dataset' | 'problem'>> {
    const format = await datasets.convertibleFrom(name);
    if (format !== null && format !== 'columns') {
      try {
        return { dataset: (await options.imports.convertDataset(name)).name, problem: null };
      } catch (thrown) {
        const { message } = asAppError(thrown);
        return { dataset: name, problem: `Its rows cannot be converted for training: ${message}` };
      }
    }
    const reason = validation.errors[0]?.message ?? 'they are of no known shape';
    return { dataset: name, problem: validation.valid ? null : `Its rows cannot be trained on: ${reason}` };
  }

  return {
    move,
    async list(key) {
      await begin(key, readLists);
      return move();
    },
    async start(key, choice) {
      begin(key, async (access) => {
        await readLists(access);
        await fetchFiles(access, choice);
      });
      return move();
    },
    async cancel() {
      run?.controller.abort();
      await run?.ended;
      return move();
    },
  };
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

async function* counted(pieces: AsyncIterable<Buffer>, onBytes: (bytes: number) => void) {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    onBytes(bytes);
    yield piece;
  }
}
