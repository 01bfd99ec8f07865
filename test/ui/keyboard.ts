import type { Page } from 'playwright-core';
import { until } from '../service.ts';

/** What has the focus. */
export interface Stop {
  /** Its element and what it is called. */
  readonly name: string;
  /** Whether one can see that it has the focus: an outline, within the window and not behind the header. */
  readonly isSeen: boolean;
}

const patienceMs = 30_000;
/** More than there are stops on any page. */
const mostStops = 300;

/** What has the focus now; `null` if nothing has. */
export const focused = (page: Page): Promise<Stop | null> =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return null;
    const field = element as HTMLInputElement;
    const label = field.labels?.[0]?.textContent;
    const name =
      element.getAttribute('aria-label') ?? (field.placeholder && !label ? field.placeholder : null) ?? label;
    // What is off screen shows its focus at its label; a control that fills another one, at that.
    const shown = [
      element,
      element.closest('label'),
      element.previousElementSibling,
      element.nextElementSibling,
    ];
    const isSeen = shown.some((one) => {
      if (one == null) return false;
      const { outlineStyle, outlineWidth } = getComputedStyle(one);
      const { top, bottom, left, right } = one.getBoundingClientRect();
      const header =
        one.closest('main') === null ? 0 : (document.querySelector('header.top')?.clientHeight ?? 0);
      const isInside = bottom > header && top < innerHeight && right > 0 && left < innerWidth;
      return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0 && isInside;
    });
    const text = (name ?? element.textContent ?? '').trim().replace(/\s+/g, ' ');
    return { name: `${element.localName} ${text}`.slice(0, 100), isSeen };
  });

/**
 * What has the focus now; `null` if nothing has. Whether it is seen is told after what moves it, such as an estimate above
 * it, has been drawn.
 */
async function drawn(page: Page): Promise<Stop | null> {
  const stop = await focused(page);
  if (stop === null || stop.isSeen) return stop;
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  const now = await focused(page);
  return now?.name === stop.name ? now : stop;
}

/** What the Tab key reaches from where the focus is until it leaves the page. */
export async function walk(page: Page): Promise<Stop[]> {
  const reached: Stop[] = [];
  while (reached.length < mostStops) {
    await page.keyboard.press('Tab');
    const stop = await drawn(page);
    if (stop === null) return reached;
    reached.push(stop);
  }
  throw new Error(`The Tab key does not leave the page: ${reached.slice(-5).map(({ name }) => name)}`);
}

/** A person who has no mouse. */
export class Keyboard {
  readonly #page: Page;
  /** Stops that do not show that they have the focus. */
  readonly unseen = new Set<string>();

  constructor(page: Page) {
    this.#page = page;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#page.keyboard.press(key);
  }

  /** Writes in place of what a field has. */
  async write(text: string): Promise<void> {
    await this.press('Control+a');
    await this.#page.keyboard.type(text);
  }

  /** Chooses the entry of a list that begins with a text, once it is there. */
  async choose(text: string): Promise<void> {
    await until(
      () =>
        this.#page.evaluate(
          (wanted) =>
            [...((document.activeElement as HTMLSelectElement).options ?? [])].some((option) =>
              option.text.startsWith(wanted),
            ),
          text,
        ),
      `“${text}” can be chosen`,
      patienceMs,
    );
    await this.#page.keyboard.type(text);
    await until(
      () =>
        this.#page.evaluate(
          (wanted) =>
            (document.activeElement as HTMLSelectElement).selectedOptions?.[0]?.text.startsWith(wanted) ??
            false,
          text,
        ),
      `“${text}” is chosen`,
      patienceMs,
    );
  }

  /** Presses Tab, or Shift+Tab, until what has the focus is called so. */
  async reach(wanted: RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    const passed: string[] = [];
    // Twice around: what is wanted may appear meanwhile.
    while (passed.length < mostStops) {
      await this.press(key);
      const stop = await drawn(this.#page);
      if (stop === null) continue;
      if (!stop.isSeen) this.unseen.add(stop.name);
      if (wanted.test(stop.name)) return;
      passed.push(stop.name);
    }
    throw new Error(`The Tab key does not reach ${wanted}: ${[...new Set(passed)].join(' | ')}`);
  }

  /** Waits until the focus is on what is called so. */
  async isOn(wanted: RegExp, when: string): Promise<void> {
    let last: Stop | null = null;
    const check = async () => {
      last = await focused(this.#page);
      return last !== null && wanted.test(last.name);
    };
    await until(check, '', patienceMs).catch(() => {
      throw new Error(`The focus is not on ${wanted} ${when}, but on ${last?.name ?? 'nothing'}`);
    });
  }
}
