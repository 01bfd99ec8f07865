/** `npm run demo -- --model`: a model of the hub takes the place of the starter model. */
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startLoopbackHub } from '../hub/loopback.ts';
import { temporaryFolder } from '../service.ts';
import { cache, demo, lastLine } from './demo-process.ts';

test('a model of the hub takes its place', async () => {
  // It makes the starter model, which then plays the hub's.
  await demo([]);
  const hub = await startLoopbackHub();
  try {
    const [starter] = readdirSync(join(cache, 'hone')).filter((name) => name.startsWith('starter-'));
    const folder = join(temporaryFolder(), 'model');
    cpSync(join(cache, 'hone', starter as string), folder, { recursive: true });
    hub.addModel('acme/starter', folder);
    const hubCache = temporaryFolder();
    const { last } = await demo(['--model', 'acme/starter'], { HF_ENDPOINT: hub.url, HF_HOME: hubCache });
    assert.match(last, lastLine);
    assert.ok(existsSync(join(hubCache, 'hub', 'models--acme--starter')));
  } finally {
    await hub.close();
  }
});

test.run();
