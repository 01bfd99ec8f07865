import type { StatusFrame } from '../api/frames.ts';
import { service } from '../api/service.ts';
import { latest, router } from './app.ts';
import { readStored, writeStored } from './local-storage.ts';
import { isEnded, stateName } from './runs/job-words.ts';
import { Store } from './store.ts';

/** Whether the browser shows a notification when a run ends; `missing` if it cannot show any on this page. */
export type EndNotices = 'missing' | 'blocked' | 'off' | 'on';

const key = 'end-notices';

// Only pages over HTTPS or of this machine have them.
const found = (): EndNotices =>
  !('Notification' in globalThis) || !isSecureContext
    ? 'missing'
    : Notification.permission === 'denied'
      ? 'blocked'
      : Notification.permission === 'granted' && readStored(key, false)
        ? 'on'
        : 'off';

export const endNotices = new Store<EndNotices>(found());

/** Switches the notifications on or off; to switch them on, the browser may ask for a permission. */
export async function switchEndNotices(): Promise<void> {
  const isWanted = endNotices.value !== 'on';
  if (isWanted) await Notification.requestPermission();
  writeStored(key, isWanted);
  endNotices.set(found());
}

/** Shows a notification for every run that ends while the page is hidden, if they are switched on. */
export function announceEnds(): void {
  latest.subscribe(() => {
    const frame = latest.value;
    if (frame?.type !== 'status' || frame.state === 'deleted' || frame.discarded) return;
    // Another tab may have switched them on or off.
    if (document.hidden && isEnded(frame.state) && found() === 'on') void announce(frame);
  });
}

async function announce({ job_id: jobId, state }: StatusFrame): Promise<void> {
  const job = await service.job(jobId).catch(() => null);
  if (job === null) return;
  const body = [job.error?.message, job.job_id].filter(Boolean).join('\n');
  try {
    // Of several tabs with the same tag, one notification is shown.
    const notice = new Notification(`${stateName(state)}: ${job.display_name}`, {
      body,
      tag: `hone ${jobId}`,
    });
    notice.onclick = () => {
      window.focus();
      router.go(`/training/${jobId}`);
      notice.close();
    };
  } catch {
    // Chrome on Android shows notifications of service workers alone.
  }
}
