import type { Job } from '../../api/types.ts';
import { isActive, stateName } from './job-words.ts';

/*
 * Title and icon of the browser's tab. Before the name of the page stands how far the current run is, or how it ended until
 * somebody looks.
 */

const ownIcon = '/favicon.svg';
const [radius, percent] = [11, 100];
let page = 'Hone';
let run = '';
let isRunning = false;

/** Names the page in the title of the tab. */
export function nameTab(title: string): void {
  page = title;
  if (!isRunning) run = '';
  write();
}

/** Shows how far the current run is; once it has ended, how. */
export function showInTab({ state, progress }: Pick<Job, 'state' | 'progress'>): void {
  const before = run;
  if (isActive(state) && state !== 'queued') {
    isRunning = true;
    run = `${Math.floor(progress)}%`;
    if (run !== before) drawIcon(progress);
  } else if (isRunning) {
    isRunning = false;
    run = stateName(state);
    drawIcon(null);
    document.addEventListener('visibilitychange', () => nameTab(page), { once: true });
  }
  if (run !== before) write();
}

function write(): void {
  document.title = [run, page, 'Hone'].filter((part) => part !== '').join(' · ');
}

/** Draws a ring that is filled to `progress` percent; the page's own icon for `null`. */
function drawIcon(progress: number | null): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link === null) return;
  const circle = `<circle cx="16" cy="16" r="${radius}" fill="none" stroke-width="6" pathLength="${percent}"`;
  link.href =
    progress === null
      ? ownIcon
      : `data:image/svg+xml,${encodeURIComponent(
          `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#12655f"/>${circle} stroke="#4d8c86"/>${circle} stroke="#fff" stroke-dasharray="${progress} ${percent}" transform="rotate(-90 16 16)"/></svg>`,
        )}`;
}
