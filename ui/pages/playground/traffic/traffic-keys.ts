import { isPlainKey, letterOf } from '../../../views/shell/keys.ts';

/** What keys do to the answers. */
interface TrafficActs {
  /** Shows the answer after or before. */
  move(by: -1 | 1): void;
  /** Rates the one that is shown. */
  rate(rating: 'up' | 'down'): void;
  correct(): void;
  /** Selects it, or no longer. */
  choose(): void;
}

/** Does what a key stands for. @param isOpen whether an answer is shown, which most keys need. */
export function pressed(event: KeyboardEvent, isOpen: boolean, acts: TrafficActs): void {
  if (event.defaultPrevented || event.shiftKey || !isPlainKey(event)) return;
  const onOpen = (act: () => void) => (!isOpen || event.repeat ? undefined : act);
  const byLetter: Readonly<Record<string, (() => void) | undefined>> = {
    j: () => acts.move(1),
    k: () => acts.move(-1),
    u: onOpen(() => acts.rate('up')),
    d: onOpen(() => acts.rate('down')),
    e: onOpen(() => acts.correct()),
    x: onOpen(() => acts.choose()),
  };
  const act = byLetter[letterOf(event)];
  if (act === undefined) return;
  event.preventDefault();
  act();
}
