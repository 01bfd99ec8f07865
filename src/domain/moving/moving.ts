import { dirname, join } from 'node:path';
import type { Store } from '../../db/store.ts';
import { AppError, asAppError } from '../../errors.ts';
import type { OpenAiAccess, OpenAiPatience } from '../../openai-source/access.ts';
import type { Datasets } from '../datasets/datasets.ts';
import type { Imports } from '../datasets/imports/imports.ts';
import { fetchEval } from './fetch-eval.ts';
import { fetchFile } from './fetch-file.ts';
import { fetchResults } from './fetch-results.ts';
import { jobHere } from './job-here.ts';
import type { Move, MoveState } from './move.ts';
import { type MovedFile, type MovedRecords, readRecords, writeRecords } from './moved-records.ts';
import type { ProposalContext } from './proposal.ts';
import { readLists } from './read-lists.ts';

/** What to download; all absent for everything. */
export interface MoveChoice {
  readonly evals?: readonly string[] | undefined;
  readonly jobs?: readonly string[] | undefined;
  readonly files?: readonly string[] | undefined;
}

/** Brings the user's own fine-tuning files and jobs, and evals, from OpenAI. A key is used for one run and never stored. */
export interface Moving {
  move(): Promise<Move>;
  /** Lists jobs and files without downloading any. @throws AppError `conflict` while a move runs. */
  list(key: string): Promise<Move>;
  /** Starts to list and download what is not here yet. @throws AppError `conflict` while a move runs. */
  start(key: string, choice: MoveChoice): Promise<Move>;
  /** Ends a running move; what is stored is kept. */
  cancel(): Promise<Move>;
  /** Ends a running move at the service's end, without the description of this machine that `cancel` answers with. */
  close(): Promise<void>;
}

const isAll = ({ jobs, files, evals }: MoveChoice) =>
  jobs === undefined && files === undefined && evals === undefined;
const nothing = { files_done: 0, files_total: 0, bytes_done: 0, bytes_total: 0 };

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the steps of a move share what is to be undone if one fails
export function createMoving(options: {
  readonly baseUrl: string;
  readonly patience: OpenAiPatience;
  readonly store: Store;
  readonly datasets: Datasets;
  readonly imports: Imports;
  /** Where the records of moves are kept. */
  readonly recordsPath: string;
  /** The base model and settings that are recommended for this machine. */
  readonly recommend: () => Promise<Pick<ProposalContext, 'baseModel' | 'recommended'>>;
}): Moving {
  const { store, datasets, recordsPath } = options;
  let state: MoveState = 'idle';
  let progress: Move['progress'] = nothing;
  let error: Move['error'] = null;
  let records: Promise<MovedRecords> | null = null;
  let run: { readonly controller: AbortController; readonly ended: Promise<void> } | null = null;

  const known = () => (records ??= readRecords(recordsPath));
  const save = async (changed: MovedRecords) => {
    records = Promise.resolve(changed);
    await writeRecords(recordsPath, changed);
  };
  /** The dataset of a file, unless it was deleted. */
  const datasetOf = (file: MovedFile | undefined) =>
    file?.dataset == null ? null : datasets.find(file.dataset);

  async function move(): Promise<Move> {
    const context = await options.recommend();
    // Taken together: a move may go on during the awaits.
    const now = { state, progress, error };
    const { files, jobs, evals } = await known();
    const byId = new Map(files.map((file) => [file.id, file]));
    return {
      ...now,
      files: files.map((file) =>
        file.state === 'stored' && datasetOf(file) === null
          ? { ...file, state: 'listed' as const, dataset: null }
          : file,
      ),
      jobs: jobs.map((job) => jobHere(job, byId, datasetOf, context)),
      evals: evals.map((one) =>
        one.state === 'stored' && store.evals.get(one.id) === null
          ? { ...one, state: 'listed' as const, runs: 0 }
          : one,
      ),
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

  async function list(access: OpenAiAccess): Promise<void> {
    await save(await readLists(access, await known()));
  }

  async function fetchFiles(access: OpenAiAccess, choice: MoveChoice): Promise<void> {
    const { files, jobs } = await known();
    const all = isAll(choice);
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
        moved = await fetchFile(options, access, file, (bytes) => {
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

  async function close(): Promise<void> {
    run?.controller.abort();
    await run?.ended;
  }

  /** Stores the result files of chosen jobs, and their last figures. */
  async function fetchAllResults(access: OpenAiAccess, choice: MoveChoice): Promise<void> {
    const { jobs } = await known();
    const all = isAll(choice);
    for (const job of jobs.filter(({ id }) => all || choice.jobs?.includes(id))) {
      const changed = await fetchResults(access, job, join(dirname(recordsPath), 'results'));
      if (changed === null) continue;
      const now = await known();
      await save({ ...now, jobs: now.jobs.map((one) => (one.id === job.id ? changed : one)) });
    }
  }

  /** Stores the evals with their runs, of which those that are here already stay. */
  async function fetchEvals(access: OpenAiAccess, choice: MoveChoice): Promise<void> {
    const chosen = (await known()).evals.filter(({ id }) => isAll(choice) || choice.evals?.includes(id));
    for (const listed of chosen) {
      if (listed.state === 'unavailable') continue;
      const moved = await fetchEval(store, access, listed);
      const now = await known();
      await save({ ...now, evals: now.evals.map((one) => (one.id === moved.id ? moved : one)) });
    }
  }

  /** Changes the record of a file; while it is downloaded, in memory only. */
  async function replace(file: MovedFile, isStored: boolean): Promise<void> {
    const now = await known();
    const changed = { ...now, files: now.files.map((one) => (one.id === file.id ? file : one)) };
    if (isStored) await save(changed);
    else records = Promise.resolve(changed);
  }

  return {
    move,
    async list(key) {
      await begin(key, list);
      return move();
    },
    async start(key, choice) {
      begin(key, async (access) => {
        await list(access);
        await fetchFiles(access, choice);
        await fetchAllResults(access, choice);
        await fetchEvals(access, choice);
      });
      return move();
    },
    async cancel() {
      await close();
      return move();
    },
    close,
  };
}
