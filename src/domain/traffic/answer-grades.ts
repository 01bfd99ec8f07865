import { createHash } from 'node:crypto';
import { missingColumn } from '../../contract/graders/templates.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import type { GraderDefinition } from '../graders/grader-definition.ts';
import type { GradedRow, Graders, Score } from '../graders/graders.ts';
import { promptOf } from '../graders/prompt-of.ts';
import type { KeptAnswer, NamedAnswers, Traffic } from './traffic.ts';

/** As many answers are scored at a time. */
const pieceAnswers = 20;

/** What became of some answers: how many were scored, how many could not be, and why the first of these. */
export interface GradedAnswers {
  readonly graded: number;
  readonly failed: number;
  readonly error: string | null;
}

/** Scores kept answers with stored graders. */
export interface AnswerGrades {
  /**
   * Requires a grader that can score kept answers.
   * @throws AppError `invalid` for an unknown one, or one that names a column that answers do not have.
   */
  require(name: string): void;
  /** What the scores of a grader are stored under; `null` if it was deleted. A grader that was replaced scores anew. */
  keyOf(name: string): string | null;
  /**
   * Scores the newest answers that the grader has not looked at yet, at most 20.
   * @param retries whether to look at those again that it could not score.
   * @throws AppError `not_found`, or `invalid` as the graders tell it.
   */
  grade(name: string, those: NamedAnswers, retries: boolean, signal: AbortSignal): Promise<GradedAnswers>;
}

/** The columns of a kept answer. */
interface Columns {
  /** The last message of the user. */
  readonly question: string;
  readonly messages: readonly unknown[];
  /** What it should have said; empty without a correction. */
  readonly correction: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly [name: string]: unknown;
}
const noColumns: Columns = { question: '', messages: [], correction: '', metadata: {} };

interface Choice {
  readonly message: {
    readonly content?: string | null;
    readonly tool_calls?: readonly Readonly<Record<string, unknown>>[] | null;
  };
}

function rowOf({ messages, completion, correction, metadata }: KeptAnswer): GradedRow {
  const [choice] = (completion as { choices: readonly Choice[] }).choices;
  const question = promptOf({ messages })?.at(-1)?.content ?? '';
  const item: Columns = { question, messages, correction: correction ?? '', metadata };
  return {
    item,
    sample: {
      output_text: choice?.message.content ?? '',
      output_tools: choice?.message.tool_calls ?? [],
    },
  };
}

/** The score of an answer; `null` if it has none from 0 to 1. */
const scoreOf = ({ value, error }: Score): number | null =>
  error === null && value >= 0 && value <= 1 ? value : null;

const faultOf = ({ value, error }: Score): string =>
  error ?? `The score is ${value}; two models are compared by scores from 0 to 1.`;

export function createAnswerGrades(
  graders: Pick<Graders, 'get' | 'list' | 'score'>,
  { scores }: Pick<Traffic, 'scores'>,
): AnswerGrades {
  const keyOf = (definition: GraderDefinition) =>
    createHash('sha256').update(JSON.stringify(definition)).digest('base64url');
  return {
    require(name) {
      const found = graders.list().find((grader) => grader.name === name);
      if (found === undefined) throw refusalOf('grader', `There is no grader ${name.slice(0, 100)}`);
      const fault = missingColumn(found.definition, noColumns);
      if (fault !== null) throw refusalOf('grader', `The grader ${fault}. Change it, or choose another one`);
    },
    keyOf(name) {
      const found = graders.list().find((grader) => grader.name === name);
      return found === undefined ? null : keyOf(found.definition);
    },
    async grade(name, those, retries, signal) {
      const { definition } = graders.get(name);
      const key = keyOf(definition);
      if (retries) scores.forgetFailures(key);
      const answers = scores.toGrade(those, key, pieceAnswers);
      if (answers.length === 0) return { graded: 0, failed: 0, error: null };
      const given = await graders.score(definition, answers.map(rowOf), signal);
      if (given.length !== answers.length) throw new AppError('internal', 'Answers were not scored.');
      scores.setScores(key, new Map(answers.map(({ id }, at) => [id, scoreOf(given[at] as Score)])));
      const failures = given.filter((score) => scoreOf(score) === null);
      const [first] = failures;
      return {
        graded: given.length - failures.length,
        failed: failures.length,
        error: first === undefined ? null : faultOf(first),
      };
    },
  };
}
