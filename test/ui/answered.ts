import type { Page } from 'playwright-core';
import { type Json, until } from '../service.ts';

/** The roles of the messages of a request. */
export const rolesOf = ({ messages }: Json): string => messages.map(({ role }: Json) => role).join(' ');

/** Waits until so many answers of the playground are complete. */
export const answered = (page: Page, count: number) =>
  until(
    async () =>
      (await page
        .locator('.exchanges')
        .getByText(/\d tokens/)
        .count()) === count,
    `${count} answers are there`,
  );
