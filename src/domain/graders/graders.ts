import { isJudge, judgeTypes } from '../../contract/graders/grader-types.ts';
import { missingColumn } from '../../contract/graders/templates.ts';
import type { GraderRow, GraderStore } from '../../db/tables/graders.ts';
import { AppError } from '../../errors.ts';
import { refusal, refusalOf } from '../../faults.ts';
import {
  type AnswerPair,
  type GradedRow,
  gradeRows,
  type JudgedPairs,
  judgePairs,
  type Score,
} from '../../trainer/grading/grade.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import { type GraderDefinition, partsOf } from './grader-definition.ts';

export { type GradedRow, judgedPairs, type Score, score } from '../../trainer/grading/grade.ts';

/** A stored grader. */
export interface Grader extends GraderRow {
  readonly definition: GraderDefinition;
}

/** The graders of this service: what good means, once, by name. */
export interface Graders {
  /** By name. */
  list(): Grader[];
  /** @throws AppError `not_found`. */
  get(name: string): Grader;
  /** @throws AppError `conflict` if the name is taken, `invalid` for what is wrong with a formula, a pattern or a schema. */
  create(definition: GraderDefinition, signal: AbortSignal): Promise<Grader>;
  /** @throws AppError `not_found`, or `invalid` as `create`, also with another name. */
  replace(name: string, definition: GraderDefinition, signal: AbortSignal): Promise<Grader>;
  /** @throws AppError `not_found`. */
  remove(name: string): void;
  /** @throws AppError `forbidden` for what clients on other machines may not define. */
  requireAllowed(definition: GraderDefinition, client: { readonly isLocal: boolean }): void;
  /** The definitions of some. @throws AppError `invalid` with every name that is unknown, or comes twice. */
  named(names: readonly string[]): Readonly<Record<string, GraderDefinition>>;
  /** The scores of rows. @throws AppError `invalid` for a wrong definition, or a row without a column that it names. */
  score(
    definition: GraderDefinition,
    rows: readonly GradedRow[],
    signal: AbortSignal,
  ): Promise<readonly Score[]>;
  /**
   * The scores of rows by several graders, in their order, however long it takes, and what judges took.
   * @throws AppError `invalid` for wrong definitions, by their places in `testing_criteria`.
   */
  scoreAll(
    definitions: readonly GraderDefinition[],
    rows: readonly GradedRow[],
    signal: AbortSignal,
  ): Promise<{ readonly scores: readonly (readonly Score[])[] } & Pick<GraderRun, 'usage'>>;
  /**
   * Which answer of each pair the model of a stored judge finds better, by some criteria if there are any.
   * @throws AppError `not_found`, or `invalid` for a grader that asks no model, or whose model cannot be asked.
   */
  prefer(
    judge: string,
    criteria: string | null,
    pairs: readonly AnswerPair[],
    signal: AbortSignal,
  ): Promise<JudgedPairs>;
  /** The score of one row, with the tokens that judges took by model. @throws AppError `invalid` for a wrong definition. */
  run(definition: GraderDefinition, row: GradedRow, signal: AbortSignal): Promise<GraderRun>;
}

/** What a grader makes of one row, and the `prompt_tokens` and `completion_tokens` that judges took, by model. */
export interface GraderRun {
  readonly score: Score;
  readonly usage: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export function createGraders({
  table,
  command,
  folder,
  timeoutMs,
}: {
  readonly table: GraderStore;
  readonly command: TrainerCommand;
  /** Where the trainer runs. */
  readonly folder: string;
  readonly timeoutMs: number;
}): Graders {
  function get(name: string): Grader {
    const found = table.get(name);
    if (found === null) throw new AppError('not_found', `There is no grader ${name.slice(0, 100)}.`);
    return found as Grader;
  }

  async function grade(definition: GraderDefinition, rows: readonly GradedRow[], signal: AbortSignal) {
    const graders = { grader: definition };
    const answer = await gradeRows(command, { graders, rows }, { folder, timeoutMs, signal });
    if (answer.faults.grader !== undefined) throw refusalOf('grader', answer.faults.grader);
    return { scores: answer.scores.map(({ grader }) => grader as Score), usage: answer.usage };
  }

  function put(definition: GraderDefinition, createdAt: string): Grader {
    const name = definition.name as string;
    table.put({ name, definition, createdAt, updatedAt: new Date().toISOString() });
    return get(name);
  }

  function refuseTaken(name: string): void {
    if (table.get(name) !== null)
      throw new AppError(
        'conflict',
        `There is a grader ${name} already. Choose another name, or replace it.`,
      );
  }

  return {
    list: () => table.list() as Grader[],
    get,

    async create(definition, signal) {
      const name = definition.name as string;
      refuseTaken(name);
      await grade(definition, [], signal);
      // Another one may have come meanwhile.
      refuseTaken(name);
      return put(definition, new Date().toISOString());
    },

    async replace(name, definition, signal) {
      const { createdAt } = get(name);
      if (definition.name !== name) throw refusalOf('name', `name must be ${name}, as in the path`);
      await grade(definition, [], signal);
      return put(definition, createdAt);
    },

    requireAllowed(definition, { isLocal }) {
      if (isLocal) return;
      const parts = partsOf(definition);
      const allowsPython = command.environment.HONE_ALLOW_UNCAGED_GRADERS === '1';
      if (!allowsPython && parts.some(({ type }) => type === 'python'))
        throw new AppError(
          'forbidden',
          'Clients on other machines may not define graders in Python. HONE_ALLOW_UNCAGED_GRADERS=1 in the service’s environment allows it.',
        );
      if (parts.some((part) => 'base_url' in part))
        throw new AppError('forbidden', 'Clients on other machines may not define the base_url of a grader.');
    },

    remove(name) {
      get(name);
      table.remove(name);
    },

    named(names) {
      const unknown = names.filter((name) => table.get(name) === null);
      const twice = names.filter((name, at) => names.indexOf(name) !== at);
      const issues = [
        ...unknown.map((name) => `There is no grader ${name}`),
        ...twice.map((name) => `The grader ${name} is named twice`),
      ].map((msg) => ({ loc: ['body', 'graders'], msg, type: 'value_error' }));
      if (issues.length > 0) throw refusal(issues);
      return Object.fromEntries(names.map((name) => [name, get(name).definition]));
    },

    async score(definition, rows, signal) {
      const issues = rows.flatMap(({ item }, at) => {
        const fault = missingColumn(definition, item);
        const msg = `Row ${at + 1}: the grader ${fault}. Add the column, or change the grader`;
        return fault === null ? [] : [{ loc: ['body', 'rows', String(at)], msg, type: 'value_error' }];
      });
      if (issues.length > 0) throw refusal(issues);
      return (await grade(definition, rows, signal)).scores;
    },

    async scoreAll(definitions, rows, signal) {
      const graders = Object.fromEntries(definitions.entries());
      const answer = await gradeRows(command, { graders, rows }, { folder, timeoutMs: null, signal });
      const issues = Object.entries(answer.faults).map(([place, msg]) => ({
        loc: ['body', 'testing_criteria', place],
        msg: `${definitions[Number(place)]?.name}: ${msg}`,
        type: 'value_error',
      }));
      if (issues.length > 0) throw refusal(issues);
      const scores = answer.scores.map((row) => definitions.map((_, place) => row[place] as Score));
      return { scores, usage: answer.usage };
    },

    async prefer(name, criteria, pairs, signal) {
      const judge = { ...judgeOf(get(name)), criteria };
      const answer = await judgePairs(command, { judge, pairs }, { folder, timeoutMs, signal });
      if (answer.fault !== null) throw refusalOf('judge', answer.fault);
      return answer;
    },

    async run(definition, row, signal) {
      const { scores, usage } = await grade(definition, [row], signal);
      return { score: scores[0] as Score, usage };
    },
  };
}

/** A grader that asks a model. @throws AppError `invalid` for another one. */
function judgeOf({ name, definition }: Grader): GraderDefinition {
  if (isJudge(definition)) return definition;
  throw refusalOf('judge', `${name} asks no model; name a grader of the type ${judgeTypes.join(' or ')}`);
}
