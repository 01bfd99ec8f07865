import { spawn } from 'node:child_process';
import { cp, link, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { startBar } from '../../client/bar.ts';
import { poll } from '../../client/follow-run.ts';
import type { Client } from '../../client/http-client.ts';
import { AppError } from '../../errors.ts';
import type { Command } from '../command.ts';
import { findModel, type ModelView } from '../find-model.ts';
import { note, print, printJson } from '../output.ts';

const targets = ['gguf', 'merged', 'adapter', 'adapter-gguf', 'ollama', 'lmstudio'] as const;
/** Those that have a type after a colon. */
const typed: readonly string[] = ['gguf', 'ollama', 'lmstudio'];
/** The folder of our models among LM Studio's. */
const publisher = 'hone';

interface FormView {
  readonly state: string | null;
  readonly reason: string | null;
  readonly name: string | null;
}

interface ExportView {
  readonly files: readonly {
    readonly quantization: string;
    readonly state: string;
    readonly reason: string | null;
    readonly name: string | null;
  }[];
  readonly merged: FormView;
  readonly adapter_gguf: FormView;
  readonly underway: { readonly progress?: number | null; readonly detail?: string | null } | null;
}

/** The name of a model's GGUF file of a type, which is made if there is none; without a type, of the first there is. */
async function ggufOf(client: Client, model: ModelView, type: string | undefined): Promise<string> {
  const path = `/api/models/${model.model_id}/export`;
  const fileIn = ({ files }: ExportView) =>
    files.find(({ name, quantization }) => name !== null && (type ?? quantization) === quantization);
  const before = await client.get<ExportView>(path);
  const there = fileIn(before);
  if (there !== undefined) return there.name as string;
  if (type === undefined)
    throw new AppError('not_found', `${model.name} has no GGUF file. Name a type to make: --to gguf:Q4_K_M`);
  if (before.underway === null) await client.post(path, { quantizations: [type] });
  const ended = await exportEnded(client, path, (view) => fileIn(view) !== undefined);
  const made = fileIn(ended);
  if (made !== undefined) return made.name as string;
  throw notMade(ended.files.find(({ quantization }) => quantization === type)?.reason);
}

/** Waits until no export of a model is underway, and shows its progress. */
async function exportEnded(
  client: Client,
  path: string,
  isMade: (view: ExportView) => boolean,
): Promise<ExportView> {
  const bar = startBar('Export', process.stderr);
  const ended = await poll(
    () => client.get<ExportView>(path),
    ({ underway }) => {
      bar.update(underway?.progress ?? null, underway?.detail ?? '');
      return underway === null;
    },
  );
  bar.end(isMade(ended) ? 'done' : 'failed');
  return ended;
}

const notMade = (reason: string | null | undefined): AppError =>
  new AppError('internal', `The file was not made${reason == null ? '.' : `: ${reason}`}`);

/** The name of a model's merged folder, or of its adapter's file, which is made if there is none. */
async function formOf(client: Client, model: ModelView, form: 'merged' | 'adapter_gguf'): Promise<string> {
  const path = `/api/models/${model.model_id}/export`;
  const before = await client.get<ExportView>(path);
  if (before[form].name !== null) return before[form].name;
  if (before.underway === null) await client.post(path, { [form]: true });
  const { [form]: made } = await exportEnded(client, path, (view) => view[form].name !== null);
  if (made.name !== null) return made.name;
  throw notMade(made.reason);
}

/** Copies a file or folder; `null` leaves it where it is. @returns its path. */
async function copied(path: string, folder: string | undefined, name: string): Promise<string> {
  if (folder === undefined) return path;
  const target = join(resolve(folder), name);
  await mkdir(resolve(folder), { recursive: true });
  await cp(path, target, { recursive: true });
  return target;
}

/** Creates a model of Ollama from a file of a model, with its Modelfile. @returns the name. */
async function toOllama(model: ModelView, path: string, name: string): Promise<string> {
  const written = await readFile(join(model.path, 'Modelfile'), 'utf8').catch(() => {
    throw new AppError('not_found', `${model.name} has no Modelfile.`);
  });
  const folder = await mkdtemp(join(tmpdir(), 'hone-ollama-'));
  const modelfile = join(folder, 'Modelfile');
  // The first line names the model's file, a second one that of its vision encoder.
  const text = written.replace(/^FROM .*$/m, `FROM ${path}`).replaceAll('FROM ./', `FROM ${model.path}/`);
  await writeFile(modelfile, text);
  const child = spawn('ollama', ['create', name, '-f', modelfile], {
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const code = await new Promise<number | null>((done, reject) => {
    child.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === 'ENOENT'
          ? new AppError('not_found', 'There is no program "ollama" on the PATH: https://ollama.com/download')
          : cause,
      ),
    );
    child.once('close', done);
  }).finally(() => rm(folder, { recursive: true }));
  if (code !== 0) throw new AppError('internal', `ollama create ended with the exit code ${code}.`);
  return name;
}

/** Puts a file where LM Studio finds it: as a hard link, or as a copy on another file system. */
async function toLmStudio(path: string, model: ModelView): Promise<string> {
  const folder = join(homedir(), '.lmstudio', 'models', publisher, model.name);
  const target = join(folder, `${model.name}-${basename(path).replace(/^model-/, '')}`);
  await mkdir(folder, { recursive: true });
  await rm(target, { force: true });
  await link(path, target).catch(() => cp(path, target));
  return target;
}

export const exportModel: Command = {
  name: 'export',
  about:
    'Gives a model to another program, and prints where it is: a GGUF file, merged weights for transformers, vLLM and MLX, the adapter for PEFT or llama.cpp, or a model of Ollama or LM Studio. What there is none of is made.',
  operands: ['MODEL'],
  examples: [
    'hone export support-1 --to gguf:Q4_K_M --out .',
    'hone export support-1 --to merged --out .',
    'hone export support-1 --to adapter --out .',
    'hone export support-1 --to adapter-gguf --out .',
    'hone export support-1 --to ollama --as support',
    'hone export support-1 --to lmstudio:Q8_0',
  ],
  flags: {
    to: {
      about: `${targets.slice(0, -1).join(', ')} or ${targets.at(-1)}; ${typed.join(', ')} with a type after a colon.`,
      value: targets.map((one) => (typed.includes(one) ? `${one}[:TYPE]` : one)).join('|'),
      isRequired: true,
      choices: targets,
    },
    out: {
      about: 'Copy the file, or the folder of merged weights or adapter, into this folder.',
      value: 'FOLDER',
    },
    as: { about: 'The name in Ollama; by default that of the model.', value: 'NAME' },
  },
  async run({ operands, own, json, connect }) {
    const [target, type, ...rest] = (own.to ?? '').split(':');
    const isKnown = targets.some((one) => one === target) && rest.length === 0;
    if (!isKnown || (type !== undefined && !typed.includes(target ?? '')))
      throw new AppError(
        'invalid',
        `--to must be ${targets.join(', ')} or such as gguf:Q4_K_M, not "${own.to}".`,
      );
    const { client } = await connect();
    const model = await findModel(client, operands[0] as string);
    const made = await (async () => {
      if (target === 'adapter') return copied(join(model.path, 'adapter'), own.out, `${model.name}-adapter`);
      if (target === 'merged') {
        const name = await formOf(client, model, 'merged');
        return copied(join(model.path, name), own.out, `${model.name}-merged`);
      }
      if (target === 'adapter-gguf') {
        const name = await formOf(client, model, 'adapter_gguf');
        return copied(join(model.path, name), own.out, `${model.name}-${name}`);
      }
      const file = await ggufOf(client, model, type);
      const path = join(model.path, file);
      if (target === 'ollama') return toOllama(model, path, own.as ?? model.name.toLowerCase());
      if (target === 'lmstudio') return toLmStudio(path, model);
      return copied(path, own.out, `${model.name}-${file.replace(/^model-/, '')}`);
    })();
    if (json) printJson({ model_id: model.model_id, to: target, result: made });
    else print(made);
    if (target === 'ollama') note(`ollama run ${made}`);
    return 0;
  },
};
