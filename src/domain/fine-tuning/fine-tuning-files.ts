import { datasetFileId } from '../../db/tables/datasets.ts';
import type { FineTuningStore } from '../../db/tables/fine-tuning.ts';
import { AppError } from '../../errors.ts';
import type { Dataset } from '../datasets/dataset.ts';
import type { Datasets, UploadOptions } from '../datasets/datasets.ts';
import type { Imports } from '../datasets/imports/imports.ts';
import type { Validation } from '../datasets/rows/row-validator.ts';
import type { EvalFiles } from './eval-files.ts';
import type { FineTuningFile } from './fine-tuning-file.ts';
import { type ResultFiles, resultsFilename } from './result-files.ts';

/** Where a file's content is. */
export type FileContent =
  | { readonly kind: 'stored'; readonly name: string; readonly path: string; readonly bytes: number }
  | { readonly kind: 'text'; readonly text: string };

/** What a form says of its file. */
export interface FileForm {
  readonly purpose: 'fine-tune' | 'evals';
  /** The seconds after which the file expires, or `null`. */
  readonly lifetime: number | null;
}

/** The datasets, results, and rows for evals as files with IDs. */
export interface FineTuningFiles {
  /**
   * Stores an upload as a dataset under a name that is free, or as rows for evals. Rows in the format of another tool, such as those of OpenAI's
   * preferences, are converted.
   * @param form called once the upload has been read, and may throw to store nothing.
   * @throws AppError `invalid` for rows that cannot be read.
   */
  upload(filename: string, pieces: AsyncIterable<Buffer>, form: () => FileForm): Promise<FineTuningFile>;
  /** All files, newest first. */
  list(): FineTuningFile[];
  /** @throws AppError `not_found`. */
  get(id: string): FineTuningFile;
  /** @throws AppError `not_found`, or `invalid` if the file can no longer be read. */
  content(id: string): Promise<FileContent>;
  /** Deletes a file; jobs keep their own copy of the rows. @throws AppError `not_found`. */
  remove(id: string): Promise<void>;
  /** The name of the dataset that a file is. @throws AppError `not_found` or `invalid`. */
  datasetOf(id: string): string;
  /** The ID of a stored dataset, or `null` if there is none of this name. */
  idOf(datasetName: string): string | null;
  /** Deletes the files whose time is over, and what belongs to jobs that are gone. */
  tidy(): Promise<void>;
}

/** The first errors of rows that cannot be trained on. */
const shownErrors = 5;

interface FineTuningFilesOptions {
  readonly store: FineTuningStore;
  readonly datasets: Datasets;
  /** Converts rows in OpenAI's format that Hone does not train on as they are. */
  readonly imports: Pick<Imports, 'convertFile'>;
  readonly results: ResultFiles;
  readonly evalFiles: EvalFiles;
}

export function createFineTuningFiles(options: FineTuningFilesOptions): FineTuningFiles {
  const { store, datasets, results, evalFiles } = options;

  function present(dataset: Dataset): FineTuningFile {
    const id = datasetFileId(dataset);
    const known = store.getFile(id);
    return {
      id,
      filename: known?.filename ?? dataset.name,
      purpose: 'fine-tune',
      bytes: dataset.sizeBytes,
      createdAt: dataset.uploadedAt,
      expiresAt: known?.expiresAt ?? null,
      fault: rowFaults(dataset.validation),
    };
  }
  const isOver = ({ expiresAt }: { expiresAt: string | null }) =>
    expiresAt !== null && Date.parse(expiresAt) <= Date.now();

  /** The dataset with an ID, unless its time is over. */
  function find(id: string): Dataset | null {
    const dataset = datasets.findByFileId(id);
    return dataset === null || isOver(present(dataset)) ? null : dataset;
  }

  const files: FineTuningFiles = {
    async upload(named, pieces, form) {
      const filename = withEnding(named);
      if (!/\.jsonl$/i.test(filename)) {
        throw refuse(
          'file',
          `The file must be a .jsonl file (one JSON object per line), not "${named.slice(0, 100)}".`,
        );
      }
      const { receipt, options: how } = receiving(filename, form, options);
      const dataset = await datasets.upload(filename, pieces, how).catch((error) => {
        if (receipt.evalFile === null) throw error;
        return receipt.evalFile;
      });
      if (!('uploadedAt' in dataset)) return dataset;
      const { uploadedAt } = dataset;
      const { lifetime } = receipt;
      const expiresAt =
        lifetime === null ? null : new Date(Date.parse(uploadedAt) + lifetime * 1000).toISOString();
      store.putFile({ id: datasetFileId(dataset), filename, expiresAt });
      return present(dataset);
    },

    list: () =>
      [...datasets.list().map(present), ...results.list(), ...evalFiles.list()]
        .filter((file) => !isOver(file))
        .sort((a, b) =>
          a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : a.id < b.id ? -1 : 1,
        ),

    get(id) {
      const dataset = find(id);
      const file = dataset === null ? (results.get(id) ?? evalFiles.get(id)) : present(dataset);
      if (file === null) throw missing(id);
      return file;
    },

    async content(id) {
      const dataset = find(id);
      if (dataset !== null) {
        return { kind: 'stored', ...(await datasets.file(dataset.name)), name: files.get(id).filename };
      }
      const text = results.content(id) ?? evalFiles.content(id);
      if (text === null) throw missing(id);
      return { kind: 'text', text };
    },

    async remove(id) {
      const dataset = find(id);
      if (dataset === null) {
        if (!results.remove(id) && !evalFiles.remove(id)) throw missing(id);
        return;
      }
      await datasets.remove(dataset.name);
      store.removeFile(id);
    },

    datasetOf(id) {
      const dataset = find(id);
      if (dataset !== null) return dataset.name;
      const { purpose } = files.get(id);
      const what = purpose === 'evals' ? 'rows for evals' : `the results of a job (${resultsFilename})`;
      throw new AppError('invalid', `${id} holds ${what}, not rows to train on.`);
    },

    idOf(datasetName) {
      const dataset = datasets.find(datasetName);
      return dataset === null ? null : datasetFileId(dataset);
    },

    async tidy() {
      store.prune();
      evalFiles.tidy();
      for (const file of store.files()) {
        const dataset = datasets.findByFileId(file.id);
        if (dataset !== null && !isOver(file)) continue;
        if (dataset !== null) await datasets.remove(dataset.name, true);
        store.removeFile(file.id);
      }
    },
  };
  return files;
}

/** How a file is received, and what is known of it afterwards: how long it is kept, and whether it is one of evals. */
function receiving(
  filename: string,
  form: () => FileForm,
  { imports, evalFiles }: Pick<FineTuningFilesOptions, 'imports' | 'evalFiles'>,
) {
  const receipt: { lifetime: number | null; evalFile: FineTuningFile | null } = {
    lifetime: null,
    evalFile: null,
  };
  const refusing = (what: string) => (error: unknown) => {
    if (!(error instanceof AppError) || error.kind !== 'invalid') throw error;
    throw refuse('file', `The file cannot be used for ${what}. ${error.message}`);
  };
  const options: UploadOptions = {
    keepOthers: true,
    async received(path) {
      const { purpose, lifetime } = form();
      receipt.lifetime = lifetime;
      if (purpose !== 'evals') return;
      receipt.evalFile = await evalFiles.put(filename, path, lifetime).catch(refusing('evals'));
      throw new Error('It is no dataset.');
    },
    convert: (path, name) => imports.convertFile(path, name).catch(refusing('training')),
    check(validation) {
      const fault = rowFaults(validation);
      if (fault !== null) throw refuse('file', `The file cannot be used for training. ${fault}`);
    },
  };
  return { receipt, options };
}

/** What is wrong with rows, or `null`; that there are too few of them is for the job to say. */
function rowFaults({ errors, totalErrors }: Validation): string | null {
  const inRows = errors.filter(({ line }) => line !== null);
  if (inRows.length === 0) return null;
  const first = inRows.slice(0, shownErrors).map(({ message }) => message);
  const more = totalErrors > first.length ? ` (and ${totalErrors - first.length} more)` : '';
  return `${first.join('; ')}${more}.`;
}

/** Clients that send bytes name them `upload` or `blob`. */
const withEnding = (filename: string) => (/\.[^./\\]*$/.test(filename) ? filename : `${filename}.jsonl`);

const refuse = (param: string, msg: string) =>
  new AppError('invalid', msg, { issues: [{ loc: ['body', param], msg, type: 'value_error' }] });

function missing(id: string): AppError {
  const msg = `No such File object: ${id.slice(0, 100)}`;
  return new AppError('not_found', msg, {
    issues: [{ loc: ['path', 'id'], msg, type: 'value_error' }],
    details: { code: null },
  });
}
