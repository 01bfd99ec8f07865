import { AppError } from '../../../errors.ts';
import { checkRequest } from './check-request.ts';
import type { DocumentRowsOptions } from './document-rows-options.ts';
import { type PlannedSources, planSources } from './plan-sources.ts';
import { answerTokensOf, askedRows, isVariantKind, type RowKind } from './row-kinds.ts';
import {
  dropReasons,
  isActive,
  type MakingRequest,
  makingName,
  makingNumber,
  type RowMaking,
  type RowSource,
  uselessAnswers,
} from './row-making.ts';
import { createRowRunner } from './row-runner.ts';
import { sourceRows } from './source-rows.ts';
import { charactersPerToken, createTeacher } from './teacher.ts';

/** A making with its name. */
export type NamedMaking = RowMaking & { readonly id: string };

/** What a making would ask. Tokens are an estimate. */
export interface MakingEstimate extends Omit<PlannedSources, 'sources'> {
  readonly sources: number;
  /** How many questions are needed, if every answer makes as many rows as are asked for. */
  readonly requests: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
}

/** Datasets that are made by asking a model about documents, one after another. */
export interface DocumentRows {
  /** @throws AppError as `start`, but for the model. */
  estimate(request: MakingRequest, isOver: () => boolean): Promise<MakingEstimate>;
  /** @throws AppError `invalid` or `not_found` for what cannot be made; `too_many` if too many wait. */
  start(request: MakingRequest, isOver: () => boolean): Promise<NamedMaking>;
  /** The newest first. */
  list(): NamedMaking[];
  /** @throws AppError `not_found`. */
  get(id: string): NamedMaking;
  /** Ends a making and writes the rows that there are. @throws AppError `not_found`, or `conflict` if it has ended. */
  stop(id: string): Promise<NamedMaking>;
  /** Goes on with one that was stopped or failed. @throws AppError `not_found`, or `conflict` for others. */
  resume(id: string): NamedMaking;
  /** Ends a making and forgets it; its datasets stay. @throws AppError `not_found`. */
  remove(id: string): Promise<void>;
  /** Goes on after a restart. */
  recover(): void;
  /** Ends the work; it goes on with the next start. */
  close(): Promise<void>;
}

/** They are kept with the passages that were asked about. */
const mostMakings = 100;

const zeros = <K extends string>(names: Readonly<Record<K, unknown>>) =>
  Object.fromEntries(Object.keys(names).map((name) => [name, 0])) as Record<K, number>;

export function createDocumentRows(options: DocumentRowsOptions): DocumentRows {
  const { store, documents, datasets, queueLimit } = options;
  const { rowMakings } = store;
  const teacher = createTeacher(options);

  function numberOf(id: string): number {
    const number = makingNumber(id);
    if (number !== null && rowMakings.get(number) !== null) return number;
    throw new AppError('not_found', `There is no making of rows "${id.slice(0, 100)}".`);
  }
  const read = (number: number) => ({ id: makingName(number), ...(rowMakings.get(number) as RowMaking) });

  async function plan(request: MakingRequest, isOver: () => boolean): Promise<PlannedSources> {
    const { kind, dataset, seed } = request;
    if (isVariantKind(kind)) {
      const sources = await sourceRows(datasets, dataset as string, seed);
      return { sources, nearDuplicates: 0, files: { training: [], validation: [] } };
    }
    const chosen = [...new Set(request.documents)].map((id) => documents.get(id));
    const byName = [...chosen].sort((a, b) => (a.name < b.name ? -1 : 1));
    const texts = byName.map(({ id, name }) => ({ name, pages: () => documents.pages(id) }));
    const planned = await planSources(texts, request, isOver);
    if (planned.sources.length === 0)
      throw new AppError('invalid', 'The documents have no passages that are long enough to ask about.');
    return planned;
  }

  const runner = createRowRunner(options, teacher);

  return {
    async estimate(request, isOver) {
      await checkRequest(options, request);
      const { sources, ...planned } = await plan(request, isOver);
      return { ...planned, ...costOf(sources, request) };
    },

    async start(request, isOver) {
      await checkRequest(options, request, teacher);
      if (rowMakings.numbers('queued').length >= queueLimit)
        throw new AppError('too_many', `The queue is full: ${queueLimit} makings of rows are waiting.`);
      if (rowMakings.list().length >= mostMakings)
        throw new AppError(
          'conflict',
          `${mostMakings} makings of rows are kept: delete some of them. Their datasets stay.`,
        );
      const { sources, files, nearDuplicates } = await plan(request, isOver);
      const made: RowMaking = {
        state: 'queued',
        request,
        createdAt: new Date().toISOString(),
        endedAt: null,
        error: null,
        lastProblem: null,
        sources: sources.length,
        files,
        answered: 0,
        nearDuplicateSources: nearDuplicates,
        useless: zeros(uselessAnswers),
        rows: { training: 0, validation: 0 },
        dropped: zeros(dropReasons),
        tokens: { prompt: 0, answer: 0, grading: 0 },
        datasets: { training: null, validation: null },
      };
      const number = rowMakings.add(made, sources);
      runner.next();
      return read(number);
    },

    list: () =>
      rowMakings.list().map(({ number, record }) => ({ id: makingName(number), ...(record as RowMaking) })),
    get: (id) => read(numberOf(id)),

    async stop(id) {
      const number = numberOf(id);
      if (!isActive(read(number)))
        throw new AppError('conflict', `${id} is ${read(number).state} and cannot be stopped.`);
      // Before it is interrupted: nothing starts it again.
      rowMakings.put(number, { ...(rowMakings.get(number) as RowMaking), state: 'stopped' });
      await runner.interrupt(number);
      await runner.end(number, 'stopped', null);
      return read(number);
    },

    resume(id) {
      const number = numberOf(id);
      const making = rowMakings.get(number) as RowMaking;
      if (making.state !== 'stopped' && making.state !== 'failed')
        throw new AppError(
          'conflict',
          `${id} is ${making.state}; only one that was stopped or failed goes on.`,
        );
      rowMakings.put(number, { ...making, state: 'queued', error: null, endedAt: null });
      runner.next();
      return read(number);
    },

    async remove(id) {
      const number = numberOf(id);
      rowMakings.remove(number);
      await runner.interrupt(number);
    },

    recover: runner.next,

    close: runner.close,
  };
}

/** What asking about sources costs, as far as it is known before. */
function costOf(sources: readonly RowSource[], request: MakingRequest) {
  const kind = request.kind as RowKind;
  const perSource = kind === 'question-answer' ? request.rowsPerPassage : 1;
  const requests = Math.min(sources.length, Math.ceil(request.maxRows / perSource));
  const characters = sources
    .slice(0, requests)
    .reduce((sum, source) => sum + askedRows(kind, source, request).prompt.length, 0);
  return {
    sources: sources.length,
    requests,
    promptTokens: Math.ceil(characters / charactersPerToken),
    answerTokens: requests * answerTokensOf(kind, request),
  };
}
