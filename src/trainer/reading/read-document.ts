import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import { type TrainerCommand, trainerEnvironment } from '../processes/supervisor.ts';

/** How a document is read: by its reader in `trainer/documents/`. */
export const documentFormats = ['pdf', 'docx', 'html', 'text'] as const;
export type DocumentFormat = (typeof documentFormats)[number];

/** A page of a document. */
const page = v.object({
  /** From 1; `null` where the format has no pages. */
  page: v.nullable(v.number()),
  /** `null` if it cannot be read. */
  text: v.nullable(v.string()),
});
export type DocumentPage = v.InferOutput<typeof page>;

const line = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([page, v.object({ end: v.literal(true) }), v.object({ failed: v.string() })]),
);

/** What reading a document may take. */
export interface DocumentBounds {
  readonly memoryBytes: number;
  /** Of the text of all pages. */
  readonly characters: number;
  readonly timeoutMs: number;
}

/**
 * Reads the text of a document in an enclosed process (trainer/documents/main.py).
 * @param folder where it runs; it writes nothing.
 * @throws AppError `invalid` for a document that cannot be read, whose message continues its name; `internal` without an answer.
 */
export async function readDocument(
  command: TrainerCommand,
  {
    path,
    format,
    folder,
  }: { readonly path: string; readonly format: DocumentFormat; readonly folder: string },
  { memoryBytes, characters, timeoutMs }: DocumentBounds,
): Promise<DocumentPage[]> {
  const child = spawn(command.pythonPath, ['-m', 'trainer', 'document'], {
    cwd: folder,
    env: trainerEnvironment(command, null),
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  // A process that cannot start, or ends at once, does not read its request.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify({ path, format, memory_bytes: memoryBytes, characters }));
  const closed = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  // Whoever awaits it later still gets the error.
  closed.catch(() => undefined);
  const pages: DocumentPage[] = [];
  let isWhole = false;
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const told = v.parse(line, text);
      if ('failed' in told) throw new AppError('invalid', told.failed);
      if ('end' in told) isWhole = true;
      else pages.push(told);
    }
    await closed;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw broken(error);
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
  if (isLate)
    throw new AppError(
      'invalid',
      `was not read within ${timeoutMs / 1000} s. Split it, or add it when the machine is idle.`,
    );
  // The kernel ends a process that takes more memory than there is.
  if (!isWhole)
    throw pages.length > 0
      ? new AppError('invalid', 'cannot be read to its end: it is damaged, or takes too much memory.')
      : broken();
  return pages;
}

const broken = (cause?: unknown) =>
  new AppError('internal', 'could not be read. Run "npm run doctor" to see what is missing.', { cause });
