import { Reply } from './reply.ts';

/**
 * Makes a presenter of a record into one of a reply, which is rendered once and sent again as it is for as long
 * as the record is the same object.
 */
export function rendered<T>(present: (record: T) => unknown): (record: T) => Reply {
  let last: { readonly record: T; readonly reply: Reply } | null = null;
  return (record) => {
    if (last === null || last.record !== record) {
      last = { record, reply: Reply.json(200, present(record)) };
    }
    return last.reply;
  };
}
