import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DocumentStore } from '../../db/tables/documents/documents.ts';
import { AppError } from '../../errors.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import {
  type DocumentBounds,
  type DocumentFormat,
  type DocumentPage,
  readDocument,
} from '../../trainer/reading/read-document.ts';
import { receiveFile } from '../datasets/files/receive-file.ts';
import { type DocumentRecord, documentExtensions, formatOf } from './document.ts';

export type { DocumentPage } from '../../trainer/reading/read-document.ts';

/** Documents as the text of their pages; their files are not kept. */
export interface Documents {
  /**
   * Reads a document as it arrives. The same file again is the document that there is.
   * @throws AppError `invalid` for a file that cannot be read, `conflict` for another one of its name, or if there are too many;
   * `unavailable` if too many are read.
   */
  add(filename: string, pieces: AsyncIterable<Buffer>): Promise<DocumentRecord>;
  /** In the order of their names. */
  list(): DocumentRecord[];
  /** @throws AppError `not_found`. */
  get(id: string): DocumentRecord;
  /** Its text. */
  pages(id: string): readonly DocumentPage[];
  /** Rows that were made of it stay. @throws AppError `not_found`. */
  remove(id: string): Promise<void>;
}

const mostDocuments = 10_000;
const readAtOnce = 2;
const memoryBytes = 2 ** 30;
const longestName = 200;

export function createDocuments({
  table,
  command,
  folder,
  bounds,
}: {
  readonly table: DocumentStore;
  readonly command: TrainerCommand;
  /** For files while they are read. */
  readonly folder: string;
  readonly bounds: Omit<DocumentBounds, 'memoryBytes'> & { readonly allCharacters: number };
}): Documents {
  let reading = 0;

  function get(id: string): DocumentRecord {
    const found = table.get(id);
    if (found === null) throw new AppError('not_found', `There is no document "${id.slice(0, 100)}".`);
    return found;
  }

  /** The document of this name that has these bytes. @throws AppError `conflict` if it has others. */
  function known(name: string, sha256: string): DocumentRecord | null {
    const found = table.byName(name);
    if (found !== null && found.sha256 !== sha256)
      throw new AppError(
        'conflict',
        `There is another document ${name} already. Delete it, or rename the file.`,
      );
    return found;
  }

  async function read(name: string, format: DocumentFormat, path: string): Promise<DocumentRecord> {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    const sha256 = hash.digest('hex');
    const before = known(name, sha256);
    if (before !== null) return before;
    const pages = await readDocument(command, { path, format, folder }, { memoryBytes, ...bounds }).catch(
      (error) => {
        if (error instanceof AppError)
          throw new AppError(error.kind, `${name} ${error.message}`, { cause: error });
        throw error;
      },
    );
    const characters = pages.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
    const sizeBytes = (await stat(path)).size;
    // Another one may have come meanwhile.
    const other = known(name, sha256);
    if (other !== null) return other;
    if (table.list().length >= mostDocuments || table.characters() + characters > bounds.allCharacters)
      throw new AppError(
        'conflict',
        `There is no room for the text of ${name}: at most ${mostDocuments} documents with ${bounds.allCharacters / 1e6} million characters are kept. Delete some of them.`,
      );
    const document: DocumentRecord = {
      id: randomUUID(),
      name,
      sha256,
      sizeBytes,
      characters,
      pageCount: pages.length,
      pagesWithoutText: pages.filter(({ text }) => !text).length,
      createdAt: new Date().toISOString(),
    };
    table.add({ ...document, pages });
    return document;
  }

  return {
    async add(filename, pieces) {
      const name = filename.normalize('NFC').split(/[/\\]/).at(-1) ?? '';
      const format = formatOf(name);
      if (format === null || name.length > longestName)
        throw new AppError(
          'invalid',
          `"${name.slice(0, 100)}" is no document that can be read: its name must end in ${documentExtensions.join(', ')}, and have at most ${longestName} characters.`,
        );
      if (reading >= readAtOnce)
        throw new AppError('unavailable', `${readAtOnce} documents are being read. Try again soon.`);
      reading += 1;
      const path = join(folder, randomUUID());
      try {
        await mkdir(folder, { recursive: true });
        await receiveFile(folder, path, pieces);
        return await read(name, format, path);
      } finally {
        reading -= 1;
        await rm(path, { force: true });
      }
    },
    list: () => table.list(),
    get,
    pages: (id) => table.pages(get(id).id) as DocumentPage[],
    async remove(id) {
      table.remove(get(id).id);
    },
  };
}
