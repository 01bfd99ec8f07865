import type { DocumentRow } from '../../db/tables/documents/documents.ts';
import type { DocumentFormat } from '../../trainer/reading/read-document.ts';

export type DocumentRecord = DocumentRow;

/** How files are read, by their extensions. */
const formats: Readonly<Record<string, DocumentFormat>> = {
  pdf: 'pdf',
  docx: 'docx',
  html: 'html',
  htm: 'html',
  md: 'text',
  markdown: 'text',
  txt: 'text',
  text: 'text',
};
export const documentExtensions = Object.keys(formats).map((extension) => `.${extension}`);

/** How a file is read, or `null` if it is not. */
export const formatOf = (name: string): DocumentFormat | null =>
  formats[/\.([a-z]+)$/.exec(name.toLowerCase())?.[1] ?? ''] ?? null;
