const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** What the keys that open the palette are called here. */
export const paletteKeys = isApple ? '⌘K' : 'Ctrl+K';

/** The Latin letter of a key, also where the layout of the keyboard has another one on it. */
const letterOf = ({ key, code }: KeyboardEvent) =>
  (/^[\x20-\x7e]$/.test(key) ? key : code.replace(/^Key/, '')).toLowerCase();

/** Whether a press opens or closes the palette. */
export const isPaletteKey = (event: KeyboardEvent): boolean =>
  (isApple ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey) &&
  !event.altKey &&
  !event.shiftKey &&
  letterOf(event) === 'k';
