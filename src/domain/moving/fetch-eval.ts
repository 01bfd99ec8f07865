import type { Store } from '../../db/store.ts';
import { asAppError } from '../../errors.ts';
import type { OpenAiAccess } from '../../openai-source/access.ts';
import { listEvalRuns, listOutputItems, readEval } from '../../openai-source/openai-source.ts';
import type { MovedEval } from './moved-records.ts';
import { toEval, toItem, toRun } from './source-evals.ts';

/** Stores an eval with its runs. What is here already stays as it is, and what cannot be had is told. */
export async function fetchEval(store: Store, access: OpenAiAccess, listed: MovedEval): Promise<MovedEval> {
  try {
    return await fetchRuns(store, access, listed);
  } catch (thrown) {
    const { message, details } = asAppError(thrown);
    const isOwn = ['missing', 'refused', 'forbidden'].includes(`${details.code}`);
    if (!isOwn || access.signal.aborted) throw thrown;
    // It was here before the other service lost it.
    if (store.evals.get(listed.id) !== null) return listed;
    return { ...listed, state: 'unavailable', problem: message };
  }
}

async function fetchRuns({ evals, transaction }: Store, access: OpenAiAccess, listed: MovedEval) {
  const { id } = listed;
  const evaluation = toEval(await readEval(access, id));
  if (evaluation === null)
    return { ...listed, state: 'unavailable' as const, problem: 'It is not as OpenAI’s API has evals.' };
  if (evals.get(id) === null) evals.put(evaluation, evaluation.created_at);
  const found = await listEvalRuns(access, id);
  let runs = 0;
  let lost = 0;
  for (const raw of found) {
    const run = toRun({ ...raw, eval_id: id });
    if (run === null) continue;
    if (evals.getRun(run.id) === null) {
      const items = await listOutputItems(access, id, run.id);
      const kept = items.flatMap((item) => toItem({ ...item, eval_id: id, run_id: run.id }) ?? []);
      lost += items.length - kept.length;
      const rows = kept.map((object) => ({ id: object.id, object }));
      transaction(() => evals.addRun({ run, asks: null, rows }));
    }
    runs += 1;
  }
  const problems = [
    ...(runs < found.length ? [`${found.length - runs} runs that have not ended are left out.`] : []),
    ...(lost > 0 ? [`${lost} output items cannot be read.`] : []),
  ];
  return { ...listed, state: 'stored' as const, runs, problem: problems.join(' ') || null };
}
