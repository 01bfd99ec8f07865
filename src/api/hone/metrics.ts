import { progressOf } from '../../domain/job-record/job.ts';
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

/** The `/metrics` response: the service, its jobs and the current training. */
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
    metric('hone_training_active', 'gauge', '1 while training is in progress.', [[{}, job === null ? 0 : 1]]),
    metric('hone_training_progress_percent', 'gauge', 'Training progress in percent.', [
      [{}, job && progressOf(job)],
    ]),
    metric('hone_training_step', 'gauge', 'Current optimizer step.', [[{}, last?.step]]),
    metric('hone_training_loss', 'gauge', 'Loss of the latest step.', [[{}, last?.loss]]),
    metric('hone_training_tokens_per_second', 'gauge', 'Training throughput in tokens per second.', [
      [{}, last?.tokens_per_second],
    ]),
    metric('process_resident_memory_bytes', 'gauge', 'Resident memory of the service.', [
      [{}, process.memoryUsage.rss()],
    ]),
    metric('process_cpu_seconds_total', 'counter', 'CPU time of the service.', [
      [{}, (cpu.user + cpu.system) / 1e6],
    ]),
  ];
  return `${text.join('\n')}\n`;
}
