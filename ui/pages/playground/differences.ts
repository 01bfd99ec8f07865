/** Part of a text. */
export interface Piece {
  readonly text: string;
  /** Whether the other text has no such words here. */
  readonly differs: boolean;
}

/** The most pairs of words that are compared: some milliseconds. */
const mostPairs = 4_000_000;
/** With fewer words in common, marks would only be noise. */
const leastShared = 0.25;

/**
 * The words in which two texts differ, by their longest common subsequence.
 * @returns the pieces of each text, or `null` if they are equal, too long, or have too little in common.
 */
export function differences(a: string, b: string): readonly [readonly Piece[], readonly Piece[]] | null {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  if (a === b || left.length * right.length > mostPairs) return null;
  const width = right.length + 1;
  // lengths[i * width + j] is that of left from i and right from j.
  const lengths = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] as number;
  const isSame = (i: number, j: number) => left[i]?.trim() === right[j]?.trim();
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = isSame(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  if (at(0, 0) < leastShared * Math.max(left.length, right.length)) return null;
  const pieces: [Piece[], Piece[]] = [[], []];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && isSame(i, j)) {
      add(pieces[0], left[i++] as string, false);
      add(pieces[1], right[j++] as string, false);
    } else if (j === right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) {
      add(pieces[0], left[i++] as string, true);
    } else add(pieces[1], right[j++] as string, true);
  }
  return pieces;
}

/** Words with the space before them. */
const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+|\s+$/g) ?? [];

function add(pieces: Piece[], text: string, differs: boolean): void {
  const last = pieces.at(-1);
  if (last?.differs === differs) pieces[pieces.length - 1] = { text: last.text + text, differs };
  else pieces.push({ text, differs });
}
