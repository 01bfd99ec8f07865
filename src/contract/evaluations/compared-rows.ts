/** What an evaluation found for a row. */
interface Result {
  /** In the dataset, from 1. */
  readonly line: number;
  readonly prompt: string;
  readonly reference: string | null;
  readonly rejected: string | null;
  readonly answer: string | null;
  readonly figures: Readonly<Record<string, number | null>>;
  /** What each grader says of its score, by its name. */
  readonly notes?: Readonly<Record<string, string>> | undefined;
}

/** A row of a dataset with the results of several evaluations. */
export interface ComparedRow {
  readonly line: number;
  readonly prompt: string;
  readonly reference: string | null;
  readonly rejected: string | null;
  /** `null` where an evaluation has none. */
  readonly results: readonly (Result | null)[];
  /** Whether the models answered differently, or preferred different answers. */
  readonly differs: boolean;
}

/** The rows of which some evaluation has a result, by line. */
export function comparedRows(evaluations: readonly { readonly results: readonly Result[] }[]): ComparedRow[] {
  const byLine = evaluations.map(({ results }) => new Map(results.map((result) => [result.line, result])));
  const lines = [...new Set(byLine.flatMap((found) => [...found.keys()]))].sort((a, b) => a - b);
  return lines.map((line) => {
    const results = byLine.map((found) => found.get(line) ?? null);
    const { prompt, reference, rejected } = results.find((result) => result !== null) as Result;
    const told = results.map((result) => outcomeOf(result));
    return { line, prompt, reference, rejected, results, differs: new Set(told).size > 1 };
  });
}

/** What a model did with a row, as text: its answer, which answer it prefers, or how likely it found the text. */
function outcomeOf(result: Result | null): string | null {
  if (result === null) return null;
  const { answer, figures } = result;
  return answer ?? String(figures.win ?? figures.loss ?? '');
}
