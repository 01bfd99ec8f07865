import type { RowMakingStore, SourceRow } from '../../../db/tables/documents/row-makings.ts';
import { AppError } from '../../../errors.ts';
import type { Score } from '../../../trainer/grading/grade.ts';
import { inLanes } from '../../evals/in-lanes.ts';
import type { GraderDefinition } from '../../graders/grader-definition.ts';
import type { GraderRun, Graders } from '../../graders/graders.ts';
import { quotationIn } from '../quotation.ts';
import { createKnownRows } from './known-rows.ts';
import { askedRows, type RowKind, type WrittenRow } from './row-kinds.ts';
import type { DropReason, MakingRequest, RowMaking, RowSource, StoredAnswer } from './row-making.ts';
import type { TaughtAnswer, Teacher } from './teacher.ts';

/** So many are asked at once, and decided together. */
const atOnce = 4;
const together = 16;
/** A model that makes no sound row in so many answers in succession makes none at all. */
const mostInVain = 20;

export interface MakeRowsOptions {
  readonly store: RowMakingStore;
  readonly transaction: <T>(work: () => T) => T;
  readonly teacher: Pick<Teacher, 'ask'>;
  readonly graders: Pick<Graders, 'get' | 'scoreAll'>;
}

type Change = Partial<{ -readonly [F in keyof RowMaking]: RowMaking[F] }>;

/** A number more under a name. */
const more = <K extends string>(counts: Readonly<Record<K, number>>, name: K, count = 1) =>
  ({ ...counts, [name]: counts[name] + count }) as Record<K, number>;

const jsonIn = (text: string): unknown => {
  // Some services fence JSON.
  const bare = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text)?.[1] ?? text;
  try {
    return JSON.parse(bare);
  } catch {
    return undefined;
  }
};

/**
 * Asks about the sources of a making that were not asked about yet, in their order, and decides which rows are kept, until
 * there are enough or no more sources. Each answer is stored as it comes, so that nothing is asked twice.
 * @throws AppError if the model or the grader fails, or no answer makes a row.
 */
export async function makeRows(
  { store, transaction, teacher, graders }: MakeRowsOptions,
  number: number,
  signal: AbortSignal,
): Promise<void> {
  let making = store.get(number) as RowMaking;
  const { request } = making;
  const kind = request.kind as RowKind;
  const grader = request.grader === null ? null : graders.get(request.grader).definition;
  const known = createKnownRows(kind);
  let inVain = 0;
  const put = (change: Change) => {
    // It may have been stopped or deleted meanwhile.
    const state = (store.get(number) as RowMaking | null)?.state ?? making.state;
    making = { ...making, ...change, state };
    store.put(number, making);
  };

  async function ask({ number: at, source }: SourceRow): Promise<void> {
    const { prompt, schema } = askedRows(kind, source as RowSource, request);
    const { model, temperature, seed, maxTokens } = request;
    let answer: StoredAnswer = { useless: 'rejected', rows: [] };
    let took = { promptTokens: 0, answerTokens: 0 };
    let lastProblem = making.lastProblem;
    try {
      const said = await teacher.ask({ model, prompt, schema, temperature, seed, maxTokens }, signal);
      took = said;
      answer = readAnswer(source as RowSource, said, request);
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.kind !== 'invalid' || signal.aborted) throw thrown;
      lastProblem = thrown.message;
    }
    transaction(() => {
      store.answered(at, answer);
      put({
        lastProblem,
        answered: making.answered + 1,
        useless: answer.useless === null ? making.useless : more(making.useless, answer.useless),
        tokens: {
          ...making.tokens,
          prompt: making.tokens.prompt + took.promptTokens,
          answer: making.tokens.answer + took.answerTokens,
        },
      });
    });
  }

  /** Asks about those that have no answer yet. What has been asked is waited for, also when another one fails. */
  async function askAll(waiting: readonly SourceRow[]): Promise<void> {
    const failures: unknown[] = [];
    await inLanes(waiting, atOnce, async (one) => {
      if (failures.length > 0) return;
      await ask(one).catch((error) => failures.push(error));
    });
    if (failures.length > 0) throw failures[0];
  }

  /** Why a row is not kept; `null` if it is. */
  function refusalOf(row: WrittenRow, isTrue: boolean, score: Score | undefined): DropReason | null {
    if (!isTrue) return 'quotation';
    if (score?.error != null) return 'ungraded';
    if (score !== undefined && request.bar !== null && score.value < request.bar) return 'below_bar';
    if (known.has(row)) return 'near_duplicate';
    return rowsOf(making) >= request.maxRows ? 'beyond_limit' : null;
  }

  /** Decides which rows of these answers are kept. */
  async function decide(answered: readonly SourceRow[]): Promise<void> {
    const standing = answered.map(standingRows);
    const { scores, usage } = await scoresOf(graders, grader, answered, standing, signal);
    transaction(() => {
      let place = 0;
      for (const [at, one] of answered.entries()) {
        const kept: WrittenRow[] = [];
        const { part } = one.source as RowSource;
        const rows = standing[at] ?? [];
        inVain = rows.some(({ isTrue }) => isTrue) ? 0 : inVain + 1;
        for (const { row, isTrue } of rows) {
          const score = isTrue ? scores?.[place++]?.[0] : undefined;
          const reason = refusalOf(row, isTrue, score);
          if (reason !== null) making = { ...making, dropped: more(making.dropped, reason) };
          else {
            known.add(row);
            kept.push(score === undefined ? row : { ...row, score: score.value });
            making = { ...making, rows: more(making.rows, part) };
          }
        }
        store.decided(one.number, kept);
      }
      put({ tokens: { ...making.tokens, grading: making.tokens.grading + tokensOf(usage) } });
    });
  }

  for (let after = 0; ; ) {
    const page = store.sources(number, after, together);
    const last = page.at(-1);
    if (last === undefined) return;
    for (const { rows } of page) for (const row of rows ?? []) known.add(row as WrittenRow);
    const isOpen = ({ rows }: SourceRow) => rows === null;
    if (page.some(isOpen)) {
      if (rowsOf(making) >= request.maxRows) return;
      // What was answered before a failure is decided, as far as it is in order.
      const failure = await askAll(page.filter((one) => isOpen(one) && one.answer === null)).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      const now = store.sources(number, after, together).filter(isOpen);
      const unanswered = now.findIndex(({ answer }) => answer === null);
      await decide(unanswered === -1 ? now : now.slice(0, unanswered));
      if (failure !== null) throw failure.error;
      if (inVain >= mostInVain) throw fruitless(making);
    }
    after = last.number;
  }
}

const rowsOf = ({ rows }: RowMaking) => rows.training + rows.validation;

/** What an answer is worth; its rows have quotations as the model wrote them. */
function readAnswer(source: RowSource, { text, end }: TaughtAnswer, request: MakingRequest): StoredAnswer {
  if (end === 'refusal') return { useless: 'refused', rows: [] };
  const rows = askedRows(request.kind as RowKind, source, request).read(jsonIn(text));
  if (rows !== null) return { useless: null, rows };
  return { useless: end === 'length' ? 'cut_off' : 'malformed', rows: [] };
}

/** The rows of an answer, with quotations as they stand in the passage; of variants there is nothing to prove. */
function standingRows({
  source,
  answer,
}: SourceRow): { readonly row: WrittenRow; readonly isTrue: boolean }[] {
  const of = source as RowSource;
  const { rows } = answer as StoredAnswer;
  if (of.kind === 'row') return rows.map((row) => ({ row, isTrue: true }));
  return rows.map((row) => {
    const quotation = quotationIn(of.passage.text, row.quotation ?? '');
    return { row: { ...row, quotation }, isTrue: quotation !== null };
  });
}

/** The scores of the rows whose quotation stands in their passage, in their order; `null` without a grader. */
async function scoresOf(
  graders: MakeRowsOptions['graders'],
  grader: GraderDefinition | null,
  answered: readonly SourceRow[],
  standing: readonly ReturnType<typeof standingRows>[],
  signal: AbortSignal,
): Promise<{ readonly scores: readonly (readonly Score[])[] | null; readonly usage: GraderRun['usage'] }> {
  const rows = answered.flatMap((one, at) =>
    (standing[at] ?? []).filter(({ isTrue }) => isTrue).map(({ row }) => gradable(row, one)),
  );
  return grader === null || rows.length === 0
    ? { scores: null, usage: {} }
    : graders.scoreAll([grader], rows, signal);
}

const tokensOf = (usage: GraderRun['usage']): number =>
  Object.values(usage).reduce((sum, one) => sum + (one.prompt_tokens ?? 0) + (one.completion_tokens ?? 0), 0);

/** A row as graders get it: with the passage that it was made of, and its answer as what is graded. */
const gradable = (row: WrittenRow, { source }: SourceRow) => {
  const of = source as RowSource;
  const passage = of.kind === 'passage' ? { passage: of.passage.text } : {};
  const answer = row.output ?? row.rejected;
  return { item: { ...row, ...passage }, sample: { output_text: String(answer), output_tools: [] } };
};

function fruitless({ request: { model }, lastProblem }: RowMaking): AppError {
  const said = lastProblem === null ? '' : ` The last problem was: ${lastProblem}`;
  return new AppError(
    'invalid',
    `${model} made no row whose quotation stands in its passage in ${mostInVain} answers in succession, so it is asked no more.${said} Use another model, or other instructions.`,
  );
}
