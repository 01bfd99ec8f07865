import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { allowedEnvironment, childVariables } from '../contract/child-environment.ts';
import { hasCrashed } from '../contract/crashes.ts';
import { quantizeFailure } from './quantize.ts';

export interface QuantizeProcessOptions {
  /** The command line of the program `programs/quantize.ts`. */
  readonly command: readonly string[];
  /** The path of an importance matrix (`native/importance.h`); none without it. */
  readonly importance?: string | null;
  /** A process that reports nothing for this long hangs, and is killed. */
  readonly silenceMs: number;
  /** Called with the fraction (0 to 1) of the input's bytes processed so far. */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

/** After a cancellation, the program needs this long at most to end by itself. */
const cancelPatienceMs = 3_000;
/** The last lines of its standard error; one of them is the program's own report. */
const keptErrorLines = 20;

/**
 * Quantizes a GGUF file in a process of its own, without secrets in its environment: llama.cpp aborts on some damaged
 * files. The output is either complete or absent, and no temporary file is left, however the process ends.
 * @throws AppError as `quantize`; if the process reports nothing itself, with the code `bad_model` (it crashed before any
 *   progress), `crashed` or `hung`.
 */
export async function quantizeInProcess(
  input: string,
  output: string,
  type: string,
  { command, importance, silenceMs, onProgress, signal }: QuantizeProcessOptions,
): Promise<void> {
  if (signal.aborted) throw quantizeFailure('cancelled', 'Quantization was cancelled.');
  await removeLeftovers(output);
  const [program = '', ...args] = command;
  // The program cancels itself when the channel closes, so it does not outlive the service.
  const child = spawn(program, [...args, input, output, type, ...(importance ? [importance] : [])], {
    env: allowedEnvironment(process.env, childVariables.engine),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let hung = false;
  let begun = false;
  const silence = setTimeout(() => {
    hung = true;
    child.kill('SIGKILL');
  }, silenceMs);
  let patience: NodeJS.Timeout | undefined;
  const cancel = () => {
    child.kill('SIGTERM');
    patience = setTimeout(() => child.kill('SIGKILL'), cancelPatienceMs);
  };
  signal.addEventListener('abort', cancel, { once: true });
  const errors: string[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    silence.refresh();
    const { progress } = parse(line);
    if (typeof progress !== 'number') return;
    begun = true;
    onProgress(progress);
  });
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
    errors.push(line);
    if (errors.length > keptErrorLines) errors.shift();
  });
  try {
    // `once` rejects if the process cannot be started.
    const [code, endSignal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    if (code !== 0) {
      const end = { hungMs: hung ? silenceMs : null, code, signal: endSignal, begun };
      throw failureOf(errors, end, signal.aborted);
    }
  } catch (error) {
    await removeLeftovers(output);
    throw error;
  } finally {
    clearTimeout(silence);
    clearTimeout(patience);
    signal.removeEventListener('abort', cancel);
  }
}

/** How the process ended. */
interface End {
  /** The silence after which it was killed. */
  readonly hungMs: number | null;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether it reported any progress. */
  readonly begun: boolean;
}

function failureOf(errors: readonly string[], { hungMs, code, signal, begun }: End, cancelled: boolean) {
  if (cancelled) return quantizeFailure('cancelled', 'Quantization was cancelled.');
  if (hungMs !== null) {
    const message = `The process that quantizes reported nothing for ${hungMs / 1000} s and was ended. Try again.`;
    return quantizeFailure('hung', message);
  }
  for (const line of errors) {
    const { code, message } = parse(line);
    if (typeof code === 'string' && typeof message === 'string') return quantizeFailure(code, message);
  }
  const how = signal === null ? `with exit code ${code}` : `by signal ${signal}`;
  if (!begun && hasCrashed(code, signal)) {
    const message = `The process that quantizes ended ${how} before it had read the model: the model's file is damaged.`;
    return quantizeFailure('bad_model', message, errors.join('\n'));
  }
  const message = `The process that quantizes ended ${how}. The model's file may be damaged, or memory was short.`;
  return quantizeFailure('crashed', message, errors.join('\n'));
}

/** A line of the program as an object; llama.cpp's own lines are no JSON. */
function parse(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Deletes the temporary files of a killed process (`quantize.ts` names them). */
async function removeLeftovers(output: string): Promise<void> {
  const folder = dirname(output);
  const start = `${basename(output)}.`;
  for (const name of await readdir(folder).catch(() => [])) {
    if (name.startsWith(start) && name.endsWith('.partial')) await rm(join(folder, name), { force: true });
  }
}
