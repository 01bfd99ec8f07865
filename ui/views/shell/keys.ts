import { router } from '../../state/app.ts';
import { singleKeys } from '../../state/single-keys.ts';

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** What the keys that open the palette are called here. */
export const paletteKeys: readonly string[] = isApple ? ['⌘', 'K'] : ['Ctrl', 'K'];

/** The pages that `g` and then a letter go to. */
export const pageKeys = [
  { letter: 'h', name: 'Dashboard', path: '/' },
  { letter: 'r', name: 'Runs', path: '/training/runs' },
  { letter: 's', name: 'Sweeps', path: '/training/sweeps' },
  { letter: 'e', name: 'Evaluations', path: '/models/evaluations' },
  { letter: 'c', name: 'Compare runs', path: '/training/compare' },
  { letter: 'd', name: 'Datasets', path: '/datasets' },
  { letter: 'p', name: 'Playground', path: '/playground' },
  { letter: 't', name: 'Traffic', path: '/traffic' },
  { letter: 'm', name: 'Models', path: '/models' },
  { letter: 'b', name: 'Base models', path: '/models/base' },
  { letter: 'a', name: 'Access', path: '/access' },
  { letter: 'o', name: 'Settings', path: '/settings' },
] as const;

/** The shortcuts of the page of kept answers. */
export const trafficKeys = [
  { name: 'Next or previous answer', letters: ['j', 'k'] },
  { name: 'Good or bad answer', letters: ['u', 'd'] },
  { name: 'Correct the answer', letters: ['e'] },
  { name: 'Select the answer', letters: ['x'] },
] as const;

/** What the header can open. */
export type Opened = 'palette' | 'shortcuts';

/** How long a letter after `g` is waited for. */
const secondKeyMs = 2_000;

const typed =
  'input:not([type="checkbox"], [type="radio"], [type="range"]), textarea, select, [contenteditable]';

/** The Latin letter of a key, also where the layout of the keyboard has another one on it. */
export const letterOf = ({ key, code }: KeyboardEvent): string =>
  (/^[\x20-\x7e]$/.test(key) ? key : code.replace(/^Key/, '')).toLowerCase();

/** Whether a press may be a shortcut of a single key: nothing is being typed, and no dialog is open. */
export const isPlainKey = (event: KeyboardEvent): boolean =>
  singleKeys.value &&
  !event.isComposing &&
  !(event.ctrlKey || event.metaKey || event.altKey) &&
  !(event.target instanceof Element && event.target.closest(typed) !== null) &&
  document.querySelector('dialog[open]') === null;

/** Whether a press opens or closes the palette. */
export const isPaletteKey = (event: KeyboardEvent): boolean =>
  (isApple ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) &&
  !event.altKey &&
  !event.shiftKey &&
  letterOf(event) === 'k';

/** Acts on the shortcuts of every page until `signal` aborts. */
export function listenToKeys(open: (what: Opened) => void, signal: AbortSignal): void {
  let goneAt = Number.NEGATIVE_INFINITY;

  const single = (event: KeyboardEvent): (() => void) | undefined => {
    const isSecond = event.timeStamp - goneAt < secondKeyMs;
    goneAt = Number.NEGATIVE_INFINITY;
    if (event.key === '?') return () => open('shortcuts');
    if (event.key === '/') return () => focusSearch() || open('palette');
    if (event.shiftKey) return;
    const letter = letterOf(event);
    const page = isSecond ? pageKeys.find((one) => one.letter === letter) : undefined;
    if (page !== undefined) return () => router.go(page.path);
    if (letter === 'n') return () => router.go('/training');
    if (letter !== 'g') return;
    return () => {
      goneAt = event.timeStamp;
    };
  };

  const act = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    if (document.querySelector('dialog[open]') !== null) return;
    const action = isPaletteKey(event)
      ? () => open('palette')
      : isPlainKey(event)
        ? single(event)
        : undefined;
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  document.addEventListener('keydown', act, { signal });
}

/** Puts the keyboard into the page's field for searches. @returns whether there is one. */
function focusSearch(): boolean {
  const fields = [...document.querySelectorAll<HTMLInputElement>('main input[type="search"]')];
  const field = fields.find((one) => one.checkVisibility() && !one.disabled);
  field?.focus();
  field?.select();
  return field !== undefined;
}
