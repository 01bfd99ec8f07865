import type { FineTuningFile } from '../../../domain/fine-tuning/fine-tuning-file.ts';
import type { Services } from '../../../domain/services.ts';
import { sendFile } from '../../../http/file-reply.ts';
import { withFilePart } from '../../../http/multipart.ts';
import { accept, parseInput } from '../../../http/parsing/parse-input.ts';
import { Reply } from '../../../http/reply.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { badCursor, pageOf, unixSeconds } from '../page.ts';
import * as s from '../schemas.ts';
import * as f from './file-schemas.ts';

const tag = 'openai';
const refused: ResponseDoc = { description: 'Invalid request', schema: s.error };
const noFile: ResponseDoc = { description: 'File not found', schema: s.error };

const present = (file: FineTuningFile) => ({
  id: file.id,
  object: 'file' as const,
  bytes: file.bytes,
  created_at: unixSeconds(file.createdAt),
  expires_at: file.expiresAt === null ? undefined : unixSeconds(file.expiresAt),
  filename: file.filename,
  purpose: file.purpose,
  status: file.fault === null ? ('processed' as const) : ('error' as const),
  status_details: file.fault ?? undefined,
});

/** `/v1/files`: the datasets, the results of jobs, and rows for evals. */
export function fileRoutes({ fineTuningFiles: files, uploadLimitBytes }: Services) {
  return [
    route({
      method: 'POST',
      path: '/v1/files',
      tag,
      summary: 'Upload a JSONL file of training rows, which becomes a dataset, or of rows for evals',
      upload: true,
      form: f.uploadForm,
      responses: {
        200: { description: 'The file', schema: f.file },
        400: refused,
        413: { description: 'The file is too large', schema: s.error },
        503: { description: 'Too many uploads at once; try again later', schema: s.error },
        507: { description: 'The disk is full', schema: s.error },
      },
      handle: ({ exchange }) =>
        withFilePart(exchange, 'file', uploadLimitBytes, async ({ filename, content, fields }) => {
          const form = () => {
            const given = accept(parseInput(f.uploadForm, { ...fields() }, 'body')) as {
              purpose: 'fine-tune' | 'evals';
              'expires_after[seconds]'?: number;
            };
            return { purpose: given.purpose, lifetime: given['expires_after[seconds]'] ?? null };
          };
          return present(await files.upload(filename, content, form));
        }),
    }),
    route({
      method: 'GET',
      path: '/v1/files',
      tag,
      summary: 'List the files: datasets, results of jobs, and rows for evals',
      query: f.fileQuery,
      responses: { 200: { description: 'The files', schema: f.files }, 400: refused },
      handle: ({ query: { after, limit, order, purpose } }) => {
        const found = files.list().filter((file) => purpose === undefined || file.purpose === purpose);
        const ordered = order === 'asc' ? found.reverse() : found;
        const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
        if (after !== undefined && from === 0) throw badCursor(after);
        const page = ordered.slice(from, from + limit).map(present);
        return pageOf(page, ordered.length > from + limit);
      },
    }),
    route({
      method: 'GET',
      path: '/v1/files/{file_id}',
      tag,
      summary: 'Get a file',
      responses: { 200: { description: 'The file', schema: f.file }, 404: noFile },
      handle: ({ params }) => present(files.get(params.file_id)),
    }),
    route({
      method: 'GET',
      path: '/v1/files/{file_id}/content',
      tag,
      summary: 'Get the content of a file',
      responses: {
        200: { description: 'The content', contentType: 'application/octet-stream' },
        404: noFile,
      },
      handle: async ({ params, exchange }) => {
        const content = await files.content(params.file_id);
        if (content.kind === 'stored') return sendFile(exchange, content);
        return Reply.text(200, content.text, 'application/octet-stream');
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/files/{file_id}',
      tag,
      summary: 'Delete a file with its dataset; jobs keep their own copy of the rows',
      responses: { 200: { description: 'The file was deleted', schema: f.deleted }, 404: noFile },
      handle: async ({ params }) => {
        await files.remove(params.file_id);
        return { id: params.file_id, object: 'file', deleted: true as const };
      },
    }),
  ];
}
