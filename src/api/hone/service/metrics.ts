import { progressOf } from '../../../domain/job-record/job.ts';
import { firstTokenBounds } from '../../../domain/playground/answer-figures.ts';
import type { Services } from '../../../domain/services.ts';

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null | undefined];

const escapeLabel = (text: string) =>
  text.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));

/** Lines of samples; those without a value are left out. */
const linesOf = (name: string, samples: readonly Sample[]): string[] =>
  samples
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([labels, value]) => {
      const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
      return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
    });

const headOf = (name: string, kind: string, help: string) => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${kind}`,
];

/** One metric in Prometheus' text format, version 0.0.4. */
const metric = (name: string, kind: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string =>
  [...headOf(name, kind, help), ...linesOf(name, samples)].join('\n');

/** The `/metrics` response: the service, its jobs and the current training. */
export function presentMetrics({ jobs, models, datasets, playground, version }: Services): string {
  const job = jobs.unfinished();
  const last = job?.lastMetric ?? null;
  const cpu = process.cpuUsage();
  const text = [
    metric('hone_info', 'gauge', 'The version of the service.', [[{ version }, 1]]),
    metric(
      'hone_jobs',
      'gauge',
      'Training jobs by state.',
      jobs.counts().map(({ state, count }) => [{ state }, count]),
    ),
    metric('hone_models', 'gauge', 'Trained models.', [[{}, models.list().length]]),
    metric('hone_datasets', 'gauge', 'Uploaded datasets.', [[{}, datasets.list().length]]),
    metric('hone_training_active', 'gauge', '1 while training is in progress.', [[{}, job === null ? 0 : 1]]),
    metric('hone_training_progress_percent', 'gauge', 'Training progress in percent.', [
      [{}, job && progressOf(job)],
    ]),
    metric('hone_training_step', 'gauge', 'Current optimizer step.', [[{}, last?.step]]),
    metric('hone_training_loss', 'gauge', 'Loss of the latest step.', [[{}, last?.loss]]),
    metric('hone_training_tokens_per_second', 'gauge', 'Training throughput in tokens per second.', [
      [{}, last?.tokens_per_second],
    ]),
    ...answers(playground),
    metric('process_resident_memory_bytes', 'gauge', 'Resident memory of the service.', [
      [{}, process.memoryUsage.rss()],
    ]),
    metric('process_cpu_seconds_total', 'counter', 'CPU time of the service.', [
      [{}, (cpu.user + cpu.system) / 1e6],
    ]),
  ];
  return `${text.join('\n')}\n`;
}

/** What models answered since the start, and what they do now. */
function answers({ figures, processes }: Services['playground']): string[] {
  const counts = [...figures.counts()];
  const now = processes();
  const sum = (of: 'running' | 'waiting') => now.reduce((total, one) => total + one[of], 0);
  const first = figures.firstTokens();
  const byModel = (name: string, help: string, of: (count: (typeof counts)[number][1]) => number) =>
    metric(
      name,
      'counter',
      help,
      counts.map(([model, count]) => [{ model }, of(count)]),
    );
  const seconds = 'hone_time_to_first_token_seconds';
  return [
    metric(
      'hone_answers_total',
      'counter',
      'Requests to models, by how they ended.',
      counts.flatMap(([model, { requests }]) =>
        Object.entries(requests).map(([result, count]): Sample => [{ model, result }, count]),
      ),
    ),
    metric('hone_answers_running', 'gauge', 'Requests that are being answered.', [[{}, sum('running')]]),
    metric('hone_answers_waiting', 'gauge', 'Requests that wait to be answered.', [[{}, sum('waiting')]]),
    byModel('hone_prompt_tokens_total', 'Tokens of prompts.', (count) => count.promptTokens),
    byModel(
      'hone_prompt_tokens_cached_total',
      'Tokens of prompts that were kept from earlier requests.',
      (count) => count.cachedTokens,
    ),
    byModel('hone_answer_tokens_total', 'Tokens of answers.', (count) => count.generatedTokens),
    byModel(
      'hone_answer_tokens_guessed_total',
      'Tokens of answers that prompt lookup drafted and the model accepted.',
      (count) => count.lookedUpTokens,
    ),
    metric('hone_answer_tokens_per_second', 'gauge', 'Tokens per second of the latest 20 answers.', [
      [{}, figures.latest().tokensPerSecond],
    ]),
    [
      ...headOf(seconds, 'histogram', 'Time from a request to the first token of its answer.'),
      ...linesOf(`${seconds}_bucket`, [
        ...firstTokenBounds.map((le, index): Sample => [{ le: String(le) }, first.buckets[index]]),
        [{ le: '+Inf' }, first.count],
      ]),
      ...linesOf(`${seconds}_sum`, [[{}, first.sumSeconds]]),
      ...linesOf(`${seconds}_count`, [[{}, first.count]]),
    ].join('\n'),
    metric(
      'hone_model_memory_bytes',
      'gauge',
      'Resident memory of the process that holds a model, or the base of several.',
      now
        .filter(({ models }) => models.length > 0)
        .map(({ models, memoryBytes }) => [{ model: models.join(', ') }, memoryBytes]),
    ),
  ];
}
