import { html, type TemplateResult } from 'lit';
import type { ExportFrame, LogFrame } from '../../api/frames.ts';
import { formatBytes } from '../../elements/format.ts';
import { empty } from '../../elements/parts.ts';
import type { Run } from '../../state/run.ts';

/** A run's events, newest first. */
export function runEvents(run: Run): TemplateResult {
  const found = run.events.filter((event) => event.type === 'export' || event.kind !== 'sample');
  if (found.length === 0) return empty('No events yet', 'Checkpoints, warnings and files appear here.');
  return html`<ol class="events">
    ${found
      .slice()
      .reverse()
      .map(
        (event) => html`<li data-level=${event.type === 'log' ? event.level : 'info'}>
          <time class="tabular muted" datetime=${event.time}>${new Date(event.time).toLocaleTimeString('en-GB')}</time>
          <span class="wrap"><bdi>${eventText(event)}</bdi></span>
        </li>`,
      )}
  </ol>`;
}

function eventText(event: LogFrame | ExportFrame): string {
  if (event.type === 'export') {
    return `${event.path.replace(/^artifacts\//, '')} written, ${formatBytes(event.bytes)}`;
  }
  return `${event.message ?? event.kind}${event.best ? ' (the best so far)' : ''}`;
}
