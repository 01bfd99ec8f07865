import { progressOf } from '../../domain/job.ts';
import type { Services } from '../../domain/services.ts';

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number | null | undefined];

/** One metric in Prometheus' text format, version 0.0.4; samples without a value are left out. */
function metric(name: string, kind: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
  const escapeLabel = (text: string) =>
    text.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));
  const lines = samples
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([labels, value]) => {
      const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`);
      return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
    });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines].join('\n');
}

/** What `/metrics` answers: the service, its jobs, and the training that runs. */
export function presentMetrics({ jobs, models, datasets, version }: Services): string {
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
    metric('hone_training_active', 'gauge', 'Whether a training is unfinished.', [
      [{}, job === null ? 0 : 1],
    ]),
    metric('hone_training_progress_percent', 'gauge', 'How far the training is.', [
      [{}, job && progressOf(job)],
    ]),
    metric('hone_training_step', 'gauge', 'The optimizer step of the training.', [[{}, last?.step]]),
    metric('hone_training_loss', 'gauge', 'The loss of the newest step.', [[{}, last?.loss]]),
    metric('hone_training_tokens_per_second', 'gauge', 'Tokens trained on in a second.', [
      [{}, last?.tokens_per_second],
    ]),
    metric('process_resident_memory_bytes', 'gauge', 'Memory of the service.', [
      [{}, process.memoryUsage.rss()],
    ]),
    metric('process_cpu_seconds_total', 'counter', 'Processor time of the service.', [
      [{}, (cpu.user + cpu.system) / 1e6],
    ]),
  ];
  return `${text.join('\n')}\n`;
}
