/** A longer line is no event of an answer (characters). */
const longestLine = 4 * 2 ** 20;

/**
 * The data of server-sent events (HTML Living Standard, 9.2.6); their names, IDs and comments are left out.
 * @throws what `tooLong` makes, for a line that does not end.
 */
export async function* readEvents(
  pieces: AsyncIterable<Uint8Array>,
  tooLong: () => Error,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  const take = (line: string) => {
    if (line.startsWith('data:')) data.push(line.slice('data:'.length).replace(/^ /, ''));
  };
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    // A line feed may follow a carriage return at the end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() as string;
    if (rest.length > longestLine) throw tooLong();
    for (const line of lines) {
      if (line !== '') take(line);
      else if (data.length > 0) {
        yield data.join('\n');
        data = [];
      }
    }
  }
  // Some services leave out the empty line after the last event.
  take(rest.replace(/\r$/, ''));
  if (data.length > 0) yield data.join('\n');
}
