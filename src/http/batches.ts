/** A message takes a browser about as long as ten frames, whatever is in it; more frames at once would delay a click. */
const batchBytes = 2 ** 16;

/** A frame on its way to the clients. */
export interface Published {
  readonly seq: number;
  readonly text: string;
  /** Slow clients can miss it. */
  readonly droppable: boolean;
  /** It can be read again. */
  readonly stored: boolean;
}

/** Takes the texts of one batch. @returns whether there are no more. */
export function takeBatch(from: Iterator<string>): { batch: string[]; isOver: boolean } {
  const batch: string[] = [];
  for (let bytes = 0; bytes < batchBytes; ) {
    const next = from.next();
    if (next.done) return { batch, isOver: true };
    batch.push(next.value);
    bytes += next.value.length;
  }
  return { batch, isOver: false };
}

/** A batch as a message: a JSON array. */
export const batchText = (batch: readonly string[]): string => `[${batch.join()}]`;

/** A message with `count` frames. */
export interface Message {
  readonly text: string;
  readonly count: number;
}

/** Frames as messages. */
export function batchesOf(frames: readonly Published[]): Message[] {
  const texts = frames.map(({ text }) => text).values();
  const messages: Message[] = [];
  for (let isOver = false; !isOver; ) {
    const taken = takeBatch(texts);
    isOver = taken.isOver;
    if (taken.batch.length > 0) messages.push({ text: batchText(taken.batch), count: taken.batch.length });
  }
  return messages;
}

/**
 * Stored frames, and between them in their order those that cannot be read again.
 * @param unstored is emptied as far as the stored frames go; more may be added meanwhile.
 */
export function* inOrder(
  stored: Iterable<{ readonly seq: number; readonly text: string }>,
  unstored: Published[],
): Generator<string> {
  for (const { seq, text } of stored) {
    while (unstored[0] !== undefined && unstored[0].seq < seq) yield (unstored.shift() as Published).text;
    yield text;
  }
}
