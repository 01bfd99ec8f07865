import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { service } from '../../api/service.ts';
import type { JobDetail } from '../../api/types.ts';
import { currentJobId, runOf } from '../../state/app.ts';
import { Remote } from '../../state/remote.ts';
import type { ModelFacts } from './answerer.ts';

/** What an element knows about models, each read when it is first asked for. */
export class KnownModels implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  readonly #facts = new Map<string, Remote<ModelFacts>>();

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  /** Forgets what may have changed meanwhile. */
  hostDisconnected(): void {
    this.#facts.clear();
  }

  of(modelId: string): Remote<ModelFacts> {
    const known = this.#facts.get(modelId);
    if (known !== undefined) return known;
    const facts = new Remote(() => readFacts(modelId));
    this.#facts.set(modelId, facts);
    facts.subscribe(() => this.#host.requestUpdate());
    // Not during the update that asks for it.
    queueMicrotask(() => facts.ensure());
    return facts;
  }
}

async function readFacts(modelId: string): Promise<ModelFacts> {
  const lineage = await service.lineage(modelId);
  const job = lineage.job_id === null ? null : await readJob(lineage.job_id);
  return { lineage, steps: (job?.checkpoints ?? []).map(({ step }) => step) };
}

/** The run of a model, or `null` if it was deleted; that which the whole page follows is not read twice. */
async function readJob(jobId: string): Promise<JobDetail | null> {
  if (jobId !== currentJobId.value) return service.job(jobId).catch(() => null);
  const run = runOf(jobId);
  if (run.value.job === null) await run.load();
  return run.value.job;
}
