import type { Services } from '../../../domain/services.ts';
import { withFilePart } from '../../../http/multipart.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { confirmation, errorBody, refused, tag } from '../common.ts';
import { presentDocument } from './presenters.ts';
import * as s from './schemas.ts';

const noDocument: ResponseDoc = { description: 'Document not found', schema: errorBody };

/** Documents, of which rows are made. */
export function documentRoutes({ documents, documentLimitBytes }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/documents',
      tag,
      summary:
        'Add a document (PDF, DOCX, HTML, Markdown or text) as multipart form data with a part "file"; its text is kept',
      upload: true,
      responses: {
        200: { description: 'The document', schema: s.documentRecord },
        400: refused,
        409: { description: 'There is another document of this name, or no room', schema: errorBody },
        413: { description: 'The file is too large', schema: errorBody },
        503: { description: 'Too many documents at once; try again later', schema: errorBody },
        507: { description: 'The disk is full', schema: errorBody },
      },
      handle: ({ exchange }) =>
        withFilePart(exchange, 'file', documentLimitBytes, async ({ filename, content }) =>
          presentDocument(await documents.add(filename, content)),
        ),
    }),
    route({
      method: 'GET',
      path: '/api/documents',
      tag,
      summary: 'List documents by their names',
      responses: { 200: { description: 'The documents', schema: s.documentList } },
      handle: () => ({ documents: documents.list().map(presentDocument) }),
    }),
    route({
      method: 'GET',
      path: '/api/documents/{document_id}',
      tag,
      summary: 'Get a document with the text of some of its pages',
      query: s.pagesQuery,
      responses: {
        200: { description: 'The document', schema: s.documentPages },
        400: refused,
        404: noDocument,
      },
      handle: ({ params, query: { from, limit } }) => {
        const pages = documents.pages(params.document_id);
        const first = Math.max(0, from - 1);
        return {
          ...presentDocument(documents.get(params.document_id)),
          texts: pages.slice(first, first + limit).map(({ page, text }) => ({ page, text })),
        };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/documents/{document_id}',
      tag,
      summary: 'Delete a document; rows that were made of it stay',
      responses: { 200: { description: 'The document was deleted', schema: confirmation }, 404: noDocument },
      handle: async ({ params }) => {
        await documents.remove(params.document_id);
        return { status: 'deleted', message: `Document ${params.document_id} was deleted` };
      },
    }),
  ];
}
