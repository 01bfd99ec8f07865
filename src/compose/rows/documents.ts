import { join } from 'node:path';
import type { DiskReserve } from '../../db/reserve.ts';
import { createDocuments } from '../../domain/documents/documents.ts';
import { createDocumentRows } from '../../domain/documents/making/document-rows.ts';
import type { Services } from '../../domain/services.ts';
import type { Foundation } from '../foundation.ts';

/** Documents, and rows that a model writes about them. */
export function composeDocuments(
  { config, logger, store }: Foundation,
  {
    reserve,
    ...services
  }: Pick<Services, 'datasets' | 'graders' | 'modelReferences' | 'playground' | 'remoteModels'> & {
    readonly reserve: DiskReserve;
  },
) {
  const { limits } = config;
  const documents = createDocuments({
    table: store.documents,
    command: config,
    folder: join(config.dataDir, 'documents'),
    bounds: {
      timeoutMs: limits.documentMs,
      characters: limits.documentCharacters,
      allCharacters: limits.allDocumentsCharacters,
    },
  });
  const documentRows = createDocumentRows({
    ...services,
    store,
    documents,
    logger,
    queueLimit: limits.queuedJobs,
    backoffMs: limits.rowBackoffMs,
  });
  // On a full disk, these must still be possible.
  return {
    documents: { ...documents, remove: reserve.around(documents.remove) },
    documentRows: { ...documentRows, remove: reserve.around(documentRows.remove) },
    documentLimitBytes: limits.documentBytes,
  };
}
