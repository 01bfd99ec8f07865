import type { Page } from 'playwright-core';

/** Frames per second that the browser draws while the page is active. */
export const framesPerSecond = (page: Page, forMs: number): Promise<number> =>
  page.evaluate(async (duration) => {
    const begun = performance.now();
    let count = 0;
    while (performance.now() - begun < duration) {
      await new Promise(requestAnimationFrame);
      count += 1;
    }
    return (count / (performance.now() - begun)) * 1000;
  }, forMs);
