import { abortedResult } from '../protocol/generation.ts';
import { type Answer, type Answering, beginAnswer, type Question } from './answering.ts';
import type { Adapter, Context, Contexts } from './contexts.ts';
import { canCopy, isWorthCopying, sharedTokens } from './copying.ts';
import { draftLimit, mostRunning, tokenBudgets } from './token-budget.ts';

export interface Request extends Question {
  readonly adapters: readonly Adapter[];
  /** Who asks. */
  readonly caller: string | null;
  /** Called when it no longer waits for others. */
  onBegun(): void;
}

interface Waiting {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

interface Running extends Waiting {
  readonly answering: Answering;
  /** One before it that evaluates so many tokens with which both prompts begin; they are copied then. */
  ahead: { readonly one: Running; readonly tokens: number } | null;
}

/** The requests of one model: those that run are evaluated together, one step after the other. */
export interface Scheduler {
  answer(request: Request): Promise<Answer>;
}

/**
 * @param prepare called before each step with the number of its tokens, and of the contexts that are being evaluated; its
 * result is called after the step
 * @param onStep called after each step
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the requests that are evaluated together
export function createScheduler(
  pool: Contexts,
  prepare: (tokens: number, contexts: number) => () => void,
  onStep: () => void,
): Scheduler {
  const waiting: Waiting[] = [];
  let running: Running[] = [];
  let isActive = false;

  /** The one that waits and whose caller has the fewest running requests; the oldest of several. */
  function nextWaiting(): Waiting | undefined {
    const load = (one: Waiting) =>
      running.filter(({ request }) => request.caller === one.request.caller).length;
    let next = waiting[0];
    for (const one of waiting) if (load(one) < load(next as Waiting)) next = one;
    return next;
  }

  /** The one among these that evaluates the most of what a request would have to evaluate, too. */
  function aheadOf({ request, answering }: Running, earlier: readonly Running[]): Running['ahead'] {
    const { context, sequence } = answering.slot;
    if (!answering.usesCache || !canCopy(sequence)) return null;
    let best: Running['ahead'] = null;
    for (const one of earlier) {
      if (one.answering.slot.context !== context) continue;
      const tokens = Math.min(sharedTokens(one.request.prompt, request.prompt), request.prompt.length - 1);
      if (tokens > (best?.tokens ?? sequence.nextTokenIndex)) best = { one, tokens };
    }
    return best !== null && isWorthCopying(best.tokens, sequence.nextTokenIndex) ? best : null;
  }

  /** Copies what another one has evaluated meanwhile; if that has left too early, the next one takes its place. */
  async function follow(one: Running): Promise<void> {
    if (one.ahead === null) return;
    const { one: first, tokens } = one.ahead;
    const { slot } = first.answering;
    const isRunning = running.includes(first);
    if (isRunning && slot.sequence.nextTokenIndex < tokens) return;
    await one.answering.copy(slot);
    one.ahead = isRunning ? null : aheadOf(one, running.slice(0, running.indexOf(one)));
  }

  /** Gives slots to those that wait, until there is none for the next. */
  async function admit(): Promise<void> {
    while (running.length < mostRunning) {
      const next = nextWaiting();
      if (next === undefined) return;
      const { request } = next;
      const key = JSON.stringify(request.adapters);
      const isSame = (other: Waiting) =>
        other !== next && JSON.stringify(other.request.adapters) === key && !other.request.signal.aborted;
      const shared = [...running, ...waiting].some(isSame);
      let slot: Awaited<ReturnType<Contexts['take']>> = null;
      try {
        const { prompt, limit } = request;
        slot = await pool.take(request.adapters, prompt, prompt.length + limit, shared);
        if (slot === null) return;
        // It may have been aborted in the meantime.
        if (!waiting.includes(next)) {
          pool.release(slot);
          continue;
        }
        waiting.splice(waiting.indexOf(next), 1);
        const one: Running = { ...next, answering: await beginAnswer(slot, request), ahead: null };
        one.ahead = aheadOf(one, running);
        running.push(one);
        request.onBegun();
      } catch (error) {
        if (slot !== null) pool.release(slot);
        if (waiting.includes(next)) waiting.splice(waiting.indexOf(next), 1);
        next.reject(error);
      }
    }
  }

  async function leave(one: Running, work: () => Promise<void>): Promise<void> {
    running = running.filter((other) => other !== one);
    try {
      await work();
    } catch (error) {
      one.reject(error);
    } finally {
      pool.release(one.answering.slot);
    }
  }
  const end = (one: Running) => leave(one, async () => one.resolve(await one.answering.end()));

  /** After how many tokens of its prompt others can copy them. */
  function awaited(one: Running): number {
    const known = one.answering.slot.sequence.nextTokenIndex;
    return Math.min(
      ...running.flatMap(({ ahead }) => (ahead?.one === one ? [Math.max(1, ahead.tokens - known)] : [])),
      Number.POSITIVE_INFINITY,
    );
  }

  /** Evaluates one batch of a context, while `contexts`, this one included, evaluate theirs. */
  async function step(members: Running[], contexts: number): Promise<void> {
    members.sort((one, other) => one.answering.slot.index - other.answering.slot.index);
    const drafts = draftLimit(members.map(({ answering }) => answering.drafts()));
    const shares = tokenBudgets(members.map((one) => Math.min(one.answering.left(), awaited(one))));
    const drafted = members.map(({ answering }) => Math.min(answering.drafts(), drafts));
    const ended = prepare(
      [...shares, ...drafted].reduce((sum, tokens) => sum + tokens, 0),
      contexts,
    );
    await Promise.all(
      members.map(async (one, index) => {
        const share = shares[index] as number;
        try {
          if (await one.answering.step(share, drafts, members.length > 1)) await end(one);
        } catch (error) {
          await leave(one, () => Promise.reject(error));
        }
      }),
    );
    ended();
    onStep();
  }

  async function work(): Promise<void> {
    /** The contexts in which a step is being evaluated: each goes on by itself. */
    const stepping = new Map<Context, Promise<void>>();
    const isStepping = ({ answering }: Running) => stepping.has(answering.slot.context);
    for (;;) {
      for (const one of running.filter(({ request }) => request.signal.aborted))
        if (!isStepping(one)) await end(one);
      await admit();
      if (running.length === 0 && stepping.size === 0) return;
      for (const one of running.filter((other) => !isStepping(other)))
        await follow(one).catch((error) => leave(one, () => Promise.reject(error)));
      const ready = new Map<Context, Running[]>();
      for (const one of running) {
        if (one.ahead !== null || isStepping(one)) continue;
        const { context } = one.answering.slot;
        ready.set(context, [...(ready.get(context) ?? []), one]);
      }
      const contexts = ready.size + stepping.size;
      for (const [context, members] of ready) {
        const ended = step(members, contexts).finally(() => stepping.delete(context));
        stepping.set(context, ended);
      }
      if (stepping.size > 0) await Promise.race(stepping.values());
    }
  }

  function activate(): void {
    if (isActive) return;
    isActive = true;
    // Requests that came together begin together.
    setImmediate(() => {
      void work().finally(() => {
        isActive = false;
        if (waiting.length > 0) activate();
      });
    });
  }

  return {
    answer: (request) =>
      new Promise((resolve, reject) => {
        if (request.signal.aborted) {
          resolve(abortedResult());
          return;
        }
        const one: Waiting = { request, resolve, reject };
        request.signal.addEventListener(
          'abort',
          () => {
            const at = waiting.indexOf(one);
            if (at < 0) return;
            waiting.splice(at, 1);
            resolve({ ...abortedResult(), promptTokens: request.prompt.length });
          },
          { once: true },
        );
        waiting.push(one);
        activate();
      }),
  };
}
