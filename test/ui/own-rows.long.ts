/** The walk of `own-rows.test.ts` on a large screen and on a phone, in both themes. */
import { test } from 'uvu';
import { endAll, startService } from '../service.ts';
import { closeBrowser } from './browser.ts';
import { walkOwnRows } from './own-rows-walk.ts';

test.after(closeBrowser);
test.after.each(endAll);

for (const width of [1440, 360])
  for (const theme of ['light', 'dark'] as const)
    test(`sixty own rows at ${width} px, ${theme}`, async () => {
      await walkOwnRows(await startService({ warm: true }), { width, theme });
    });

test.run();
