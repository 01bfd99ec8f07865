const controls = 'a[href], button, input, select, textarea, summary';
/** With what can be scrolled or read by keys. */
const focusable = `${controls}, [tabindex="0"]`;

/** Where the focus was: an element and its ancestors, each between two others. */
interface Place {
  readonly path: readonly {
    readonly element: Element;
    readonly before: Element | null;
    readonly after: Element | null;
  }[];
  /** Everything that could have the focus then, in order. */
  readonly order: readonly HTMLElement[];
  readonly dialog: HTMLDialogElement | null;
  /** Where it was before the dialog was opened. */
  readonly outer: Place | null;
}

const isUsable = (element: HTMLElement) =>
  element.isConnected && !element.matches(':disabled, dialog:not([open]) *') && element.checkVisibility();

const usableIn = (element: Element): HTMLElement | undefined =>
  [element, ...element.querySelectorAll(controls)].find(
    (one): one is HTMLElement => one instanceof HTMLElement && one.matches(controls) && isUsable(one),
  );

/** Moves the keyboard, and with it screen readers, to the heading of the page. */
export function focusHeading(): void {
  const heading = document.querySelector<HTMLElement>('main h1');
  heading?.setAttribute('tabindex', '-1');
  heading?.focus({ preventScroll: true });
}

/** The first place that is not left, of this one and those from which its dialogs were opened. */
function leave(place: Place | null, isLeft: (place: Place) => boolean): Place | null {
  let from = place;
  while (from !== null && isLeft(from)) from = from.outer;
  return from;
}

const isClosed = ({ dialog }: Place) => dialog !== null && !(dialog.isConnected && dialog.open);

function placeOf(target: HTMLElement, previous: Place | null): Place {
  const dialog = target.closest('dialog');
  const sameDialog = leave(previous, (place) => place.dialog !== dialog);
  const path = [];
  for (let element: Element | null = target; element !== null; element = element.parentElement) {
    path.push({ element, before: element.previousElementSibling, after: element.nextElementSibling });
  }
  return {
    path,
    order: [...(dialog ?? document).querySelectorAll<HTMLElement>(focusable)],
    dialog,
    outer: dialog === null ? null : sameDialog === null ? previous : sameDialog.outer,
  };
}

/** What has taken the place of an element that is gone, or else is next to it; `undefined` if nothing is left. */
function successorOf({ path, order }: Place): HTMLElement | undefined {
  const near = path.findIndex(({ element }) => element.isConnected);
  const gone = path[near - 1];
  const parent = path[near]?.element;
  if (gone !== undefined && parent !== undefined) {
    const { before, after } = gone;
    const first = before?.parentElement === parent ? before.nextElementSibling : parent.firstElementChild;
    for (let element = first; element !== null && element !== after; element = element.nextElementSibling) {
      const found = usableIn(element);
      if (found !== undefined) return found;
    }
  }
  const index = order.indexOf(path[0]?.element as HTMLElement);
  const isNext = (element: HTMLElement) => element.matches(controls) && isUsable(element);
  return order.slice(index + 1).find(isNext) ?? order.slice(0, index).findLast(isNext);
}

/**
 * How long an element may be disabled, because it is busy, and still get the focus back: longer than a busy machine takes
 * to answer. Until then the Tab key goes on from the element.
 */
const busyMs = 3_000;

/**
 * Keeps the keyboard on the page: when the element that has the focus is deleted, replaced or hidden, what has taken its
 * place or is next to it gets the focus; when a dialog is closed, the element from which it was opened, or what is there.
 * One that was disabled for a moment gets it back.
 */
export function keepLostFocus(): void {
  let place: Place | null = null;
  let isAsked = false;
  let wasDisabled = false;
  const isLost = () => place !== null && document.activeElement === document.body;

  const settle = (isLate: boolean) => {
    isAsked = false;
    if (!isLost()) return;
    const open = leave(place, isClosed);
    const wasClosed = open !== null && open !== place;
    place = open ?? place;
    const last = place?.path[0]?.element;
    if (place === null || !(last instanceof HTMLElement)) return;
    if (isUsable(last)) {
      // Who takes the focus away from a usable element, as by a click beside it, does so on purpose.
      if (wasDisabled || wasClosed) last.focus({ preventScroll: true });
      else place = null;
    } else if (!isLate && last.isConnected && last.matches(':disabled')) {
      const { path } = place;
      wasDisabled = true;
      setTimeout(() => path === place?.path && settle(true), busyMs);
    } else {
      const next = last.localName === 'h1' ? undefined : successorOf(place);
      if (next === undefined) focusHeading();
      else next.focus({ preventScroll: true });
    }
  };
  const ask = () => {
    if (isAsked || !isLost()) return;
    isAsked = true;
    // What is changing now is drawn by then.
    requestAnimationFrame(() => settle(false));
  };
  document.addEventListener('focusin', ({ target }) => {
    place = target instanceof HTMLElement && target !== document.body ? placeOf(target, place) : null;
    wasDisabled = false;
  });
  // Disabling an element takes its focus away only when it is drawn.
  document.addEventListener('focusout', () => queueMicrotask(ask));
  new MutationObserver(ask).observe(document, {
    childList: true,
    subtree: true,
    attributeFilter: ['disabled', 'hidden', 'open'],
  });
}
