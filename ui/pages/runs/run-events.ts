import { html, type TemplateResult } from 'lit';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { Event } from '../../api/frames.ts';
import type { JobDetail } from '../../api/types.ts';
import { formatBytes, formatMoment } from '../../elements/format.ts';
import { empty } from '../../elements/parts.ts';
import { isEnded, phaseName, stateName } from '../../state/runs/job-words.ts';
import { metricText } from '../../views/runs/run-charts.ts';

/** An event as it is shown. */
interface Told {
  readonly time: string;
  readonly level: 'info' | 'warning';
  readonly text: string;
}

/** A run's events from its start to its end. */
export function runEvents(events: readonly Event[], job: JobDetail): TemplateResult {
  const told = story(events, job);
  if (told.length === 0)
    return empty('No events yet', 'Phases, evaluations, checkpoints and warnings appear here.');
  return html`<ol class="events">
    ${told.map(
      ({ time, level, text }) => html`<li data-level=${level}>
        <time class="tabular muted" datetime=${time} title=${formatMoment(time)}
          >${new Date(time).toLocaleTimeString('en-GB')}</time
        >
        <span class="wrap"><bdi>${text}</bdi></span>
      </li>`,
    )}
  </ol>`;
}

function story(events: readonly Event[], { state, error }: JobDetail): Told[] {
  const told: Told[] = [];
  let last: string | null = null;
  let phase: string | null = null;
  for (const event of events) {
    const { time } = event;
    const say = (text: string, level: Told['level'] = 'info') => told.push({ time, level, text });
    if (event.type === 'export') {
      say(`${event.path.replace(/^artifacts\//, '')} written, ${formatBytes(event.bytes)}`);
    } else if (event.type === 'metrics') {
      say(
        `${event.step === 0 ? 'Base model evaluated' : `Evaluated at step ${event.step}`}: ${figures(event.metrics)}`,
      );
    } else if (event.type === 'log') {
      if (event.kind !== 'sample')
        say(`${event.message ?? event.kind}${event.best ? ' (the best so far)' : ''}`, event.level);
    } else {
      if (event.state !== last) {
        say(
          stateName(event.state),
          event.state === 'failed' || event.state === 'interrupted' ? 'warning' : 'info',
        );
        if (event.state === 'starting') phase = null;
      }
      last = event.state;
      // Its figures follow.
      if (isEnded(event.state) || event.phase === null || event.phase === 'evaluate') continue;
      if (event.phase !== phase) say(phaseName(event.phase));
      phase = event.phase;
    }
  }
  // Only the last end has a message.
  const end = told.findLast(({ text }) => text === stateName(state));
  if (end !== undefined && error?.message != null)
    told[told.indexOf(end)] = { ...end, text: `${end.text}: ${error.message}` };
  return told;
}

const figures = (metrics: Readonly<Record<string, number | null>>): string =>
  Object.entries(metrics)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${metricName(name)} ${metricText(name, value)}`)
    .join(' · ');
