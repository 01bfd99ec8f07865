import { createHash } from 'node:crypto';

/** A SHA-1 that is the same for rows that are equal by these fields and their tools, however their JSON is written. */
export function rowDigest(text: string, fields: readonly string[]): Buffer {
  return createHash('sha1').update(contentOf(text, fields)).digest();
}

/** The text itself if it is not a row. */
function contentOf(text: string, fields: readonly string[]): string {
  try {
    const row = JSON.parse(text.replace(/^\ufeff/, '')) as Readonly<Record<string, unknown>>;
    const isTalk = fields.includes('messages') || fields.includes('prompt');
    return JSON.stringify((isTalk ? [...fields, 'tools'] : fields).map((field) => row[field]));
  } catch {
    return text;
  }
}
