import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { service } from '../../api/service.ts';
import type { JobDetail, Lineage } from '../../api/types.ts';
import { currentJobId, latest, runOf } from '../../state/app.ts';
import { Remote } from '../../state/remote.ts';
import type { ModelFacts } from './answerer.ts';
import { isBase, runsWithoutModel } from './choices.ts';

/** What an element knows about models, each read when it is first asked for. */
export class KnownModels implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  readonly #facts = new Map<string, Remote<ModelFacts>>();
  #unfollow: (() => void) | null = null;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    this.#unfollow = latest.subscribe(() => this.#take());
  }

  /** Forgets what may have changed meanwhile. */
  hostDisconnected(): void {
    this.#unfollow?.();
    this.#facts.clear();
  }

  /** Reads a run again that saved a checkpoint or ended. */
  #take(): void {
    const frame = latest.value;
    if (frame?.type !== 'status' && !(frame?.type === 'log' && frame.kind === 'checkpoint')) return;
    for (const facts of this.#facts.values())
      if (facts.value.value?.runId === frame.job_id) void facts.refresh();
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
  if (isBase(modelId)) return factsOfBase(modelId);
  const run = runsWithoutModel().find(({ model_id }) => model_id === modelId);
  const running = run === undefined ? null : await service.job(run.job_id);
  if (running !== null && running.state !== 'completed') return factsOfRun(running);
  const lineage = await service.lineage(modelId);
  return factsOfModel(lineage, lineage.job_id === null ? null : await readJob(lineage.job_id));
}

async function factsOfBase(name: string): Promise<ModelFacts> {
  const {
    chat_template: hasChatTemplate,
    context_length: contextTokens,
    tools_fault: toolsFault,
    gguf,
  } = await service.baseAnswers(name);
  const untrained = {
    dataset: '',
    systemPrompt: null,
    tools: [],
    hasAdapter: false,
    quantizations: [],
    steps: [],
    runId: null,
    isBase: true,
  };
  return {
    ...untrained,
    name: name.slice(name.indexOf(':') + 1),
    hasChatTemplate,
    contextTokens,
    toolsFault,
    isTrained: !gguf,
  };
}

const stepsOf = (job: JobDetail | null) => (job?.checkpoints ?? []).map(({ step }) => step);

/** @param job the model's run, or `null` if it was deleted. */
function factsOfModel(
  { name, dataset, chat_template, context_length: contextTokens, tools_fault: toolsFault, files }: Lineage,
  job: JobDetail | null,
): ModelFacts {
  const has = (kind: string) => files.some((file) => file.kind === kind);
  const quantizations = files.flatMap(({ kind, quantization }) =>
    kind === 'gguf' && quantization !== null ? [quantization] : [],
  );
  const about = { isTrained: !has('gguf'), hasAdapter: has('adapter_gguf'), quantizations };
  const ofRows = { systemPrompt: job?.system_prompt ?? null, tools: job?.tools ?? [] };
  const kept = { steps: stepsOf(job), runId: null, isBase: false, ...ofRows };
  return { ...about, ...kept, name, dataset, hasChatTemplate: chat_template, contextTokens, toolsFault };
}

function factsOfRun(job: JobDetail): ModelFacts {
  const { job_id: name, dataset, chat_template, context_length: contextTokens } = job;
  const isTrained = job.quantizations.length === 0;
  const about = { isTrained, hasAdapter: !isTrained, quantizations: [] };
  const ofRows = { systemPrompt: job.system_prompt, tools: job.tools, toolsFault: job.tools_fault };
  const kept = { steps: stepsOf(job), runId: name, isBase: false, ...ofRows };
  return { ...about, ...kept, name, dataset, hasChatTemplate: chat_template, contextTokens };
}

/** The run of a model, or `null` if it was deleted; that which the whole page follows is not read twice. */
async function readJob(jobId: string): Promise<JobDetail | null> {
  if (jobId !== currentJobId.value) return service.job(jobId).catch(() => null);
  const run = runOf(jobId);
  if (run.value.job === null) await run.load();
  return run.value.job;
}
