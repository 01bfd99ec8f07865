import * as v from 'valibot';
import type { OpenAiAccess } from './access.ts';
import { failure, get, readText } from './get.ts';
import {
  listPage,
  type SourceFile,
  type SourceJob,
  type SourceObject,
  sourceCheckpoint,
  sourceFile,
  sourceJob,
  sourceObject,
} from './schemas.ts';

/** The most objects of a page that the API accepts. */
const pageSizes = { jobs: 100, files: 10_000, checkpoints: 25, evals: 100 } as const;
/** More pages are an endless list. */
const mostPages = 10_000;

/** All fine-tuning jobs of the key's project, newest first. @throws AppError as `get` does. */
export const listJobs = (access: OpenAiAccess): Promise<SourceJob[]> =>
  listAll(access, '/fine_tuning/jobs', pageSizes.jobs, sourceJob);

/** All files of the key's project. @throws AppError as `get` does. */
export const listFiles = (access: OpenAiAccess): Promise<SourceFile[]> =>
  listAll(access, '/files', pageSizes.files, sourceFile);

/** All evals of the key's project. @throws AppError as `get` does, with `missing` where there are none. */
export const listEvals = (access: OpenAiAccess): Promise<SourceObject[]> =>
  listAll(access, '/evals', pageSizes.evals, sourceObject);

/** One eval. @throws AppError as `get` does. */
export const readEval = (access: OpenAiAccess, id: string): Promise<SourceObject> =>
  readObject(access, `/evals/${encodeURIComponent(id)}`, sourceObject);

/** All runs of an eval. @throws AppError as `get` does. */
export const listEvalRuns = (access: OpenAiAccess, evalId: string): Promise<SourceObject[]> =>
  listAll(access, `/evals/${encodeURIComponent(evalId)}/runs`, pageSizes.evals, sourceObject);

/** All output items of a run. @throws AppError as `get` does. */
export const listOutputItems = (
  access: OpenAiAccess,
  evalId: string,
  runId: string,
): Promise<SourceObject[]> => {
  const path = `/evals/${encodeURIComponent(evalId)}/runs/${encodeURIComponent(runId)}/output_items`;
  return listAll(access, path, pageSizes.evals, sourceObject);
};

/** One file. @throws AppError as `get` does, with `missing` if it was deleted. */
export const readFile = (access: OpenAiAccess, id: string): Promise<SourceFile> =>
  readObject(access, `/files/${encodeURIComponent(id)}`, sourceFile);

/** A small file's content as text. @throws AppError as `get` does, with `missing` if it was deleted. */
export const readContent = (access: OpenAiAccess, id: string): Promise<string> =>
  get(access, `/files/${encodeURIComponent(id)}/content`, readText);

/** The metrics of a job's last checkpoint; `null` without one. @throws AppError as `get` does. */
export async function readMetrics(
  access: OpenAiAccess,
  jobId: string,
): Promise<Record<string, number | null> | null> {
  const path = `/fine_tuning/jobs/${encodeURIComponent(jobId)}/checkpoints`;
  const found = await listAll(access, path, pageSizes.checkpoints, sourceCheckpoint);
  const last = found.sort((a, b) => b.step_number - a.step_number)[0];
  if (last === undefined) return null;
  const numbers = Object.entries(last.metrics).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(numbers) as Record<string, number>;
}

/**
 * A file's content, passed on as it arrives.
 * @param take consumes the pieces; it is called again from the beginning after an interruption.
 * @throws AppError as `get` does, and `refused` if fewer or more bytes arrive than the file has.
 */
export function download<T>(
  access: OpenAiAccess,
  { id, bytes }: Pick<SourceFile, 'id' | 'bytes'>,
  take: (pieces: AsyncIterable<Buffer>) => Promise<T>,
): Promise<T> {
  return get(access, `/files/${encodeURIComponent(id)}/content`, (response, heard) => {
    async function* pieces() {
      let arrived = 0;
      for await (const piece of response.body ?? []) {
        heard();
        arrived += piece.byteLength;
        if (arrived > bytes) break;
        yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      }
      if (arrived !== bytes) {
        const found = arrived > bytes ? 'more' : String(arrived);
        throw failure('refused', `The file has ${bytes} bytes, and ${found} arrived. Run it again.`);
      }
    }
    return take(pieces());
  });
}

async function listAll<S extends v.GenericSchema>(
  access: OpenAiAccess,
  path: string,
  limit: number,
  schema: S,
): Promise<v.InferOutput<S>[]> {
  const found: v.InferOutput<S>[] = [];
  let after: string | null = null;
  for (let count = 0; count < mostPages; count += 1) {
    const query: string = `?limit=${limit}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`;
    const page = await readObject(access, path + query, listPage);
    for (const one of page.data) {
      const parsed = v.safeParse(schema, one);
      // An object of a kind that is unknown here must not hide the others.
      if (parsed.success) found.push(parsed.output);
    }
    const last = v.safeParse(v.object({ id: v.string() }), page.data.at(-1));
    if (!page.has_more || !last.success || last.output.id === after) return found;
    after = last.output.id;
  }
  throw failure('upstream', `The list ${path} does not end.`);
}

async function readObject<S extends v.GenericSchema>(
  access: OpenAiAccess,
  path: string,
  schema: S,
): Promise<v.InferOutput<S>> {
  const text = await get(access, path, readText);
  try {
    return v.parse(schema, JSON.parse(text));
  } catch (cause) {
    throw failure(
      'upstream',
      `${new URL(access.baseUrl).host} did not answer as OpenAI's API does. Check OPENAI_BASE_URL.`,
      cause,
    );
  }
}
