/** What the page of another site can make a real browser do to the service: nothing, by any means that browsers offer. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, supportRows, type TestService, temporaryFolder, until } from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';
import { closeBrowser, theBrowser } from './browser.ts';

let service: TestService;
let model: StoredModel;
let site: Server;
let sitePort: number;

test.before(async () => {
  const dataDir = temporaryFolder();
  model = storeModel(dataDir);
  service = await startService({ dataDir });
  await service.upload('support.jsonl', supportRows());
  // What its analysis finds is a change, too.
  await until(async () => {
    const { datasets } = (await service.call('GET', '/api/datasets')).body;
    return datasets[0].findings !== null;
  }, 'the dataset is analysed');
  site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Another site</title><body></body>');
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  sitePort = (site.address() as AddressInfo).port;
});
test.after(async () => {
  site.close();
  await closeBrowser();
  await endAll();
});

async function newPage(): Promise<Page> {
  const page = await (await theBrowser()).newPage();
  // The compiler of this file names functions by a helper, which the page lacks.
  await page.addInitScript('globalThis.__name = (named) => named');
  return page;
}

/** Attacks `target`, within a page. @returns what the page could read. */
async function attack({ target, modelId }: { target: string; modelId: string }): Promise<string[]> {
  const read: string[] = [];
  const patience = 20_000;
  const settled = (work: Promise<unknown>) =>
    Promise.race([work.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, patience))]);
  const say = async (what: string, work: Promise<Response>) => {
    const response = await work;
    const text = await response.text();
    if (text !== '') read.push(`${what}: ${text.slice(0, 100)}`);
  };
  const json = { 'content-type': 'application/json' };
  const upload = () => {
    const form = new FormData();
    form.append('file', new Blob(['{"input":"a","output":"b"}\n'.repeat(20)]), 'planted.jsonl');
    return form;
  };
  const start = '{"task":"text-generation","model_name":"a/b","dataset":"support.jsonl"}';
  for (const mode of ['cors', 'no-cors'] as const) {
    for (const [method, path, body, headers] of [
      ['GET', '/api/models/'],
      ['GET', '/api/finetune/load_settings'],
      ['POST', '/api/start_training', start, { 'content-type': 'text/plain' }],
      ['POST', '/api/start_training', start, json],
      ['POST', '/api/upload_dataset', upload()],
      ['DELETE', `/api/models/${modelId}`],
      ['DELETE', '/api/datasets/support.jsonl'],
    ] as [string, string, BodyInit?, Record<string, string>?][]) {
      const request = new Promise<Response>((resolve, reject) => {
        // A browser throws where the mode does not allow the method.
        const options = { method, mode, ...(body ? { body } : {}), ...(headers ? { headers } : {}) };
        fetch(target + path, options).then(resolve, reject);
      });
      await settled(say(`${mode} ${method} ${path}`, request));
    }
  }
  const loaded = (element: HTMLElement, what: string, counts = true) =>
    settled(
      new Promise<void>((resolve) => {
        element.onload = () => {
          if (counts) read.push(`${what} loaded`);
          resolve();
        };
        element.onerror = () => resolve();
        document.body.append(element);
      }),
    );
  const image = document.createElement('img');
  image.src = `${target}/api/finetune/load_settings?by=image`;
  await loaded(image, 'an image');
  const script = document.createElement('script');
  script.src = `${target}/api/models/?by=script`;
  await loaded(script, 'a script');
  const style = document.createElement('link');
  style.rel = 'stylesheet';
  style.href = `${target}/api/datasets?by=style`;
  await loaded(style, 'a style sheet');
  for (const [enctype, path] of [
    ['text/plain', '/api/start_training'],
    ['multipart/form-data', '/api/upload_dataset'],
    ['application/x-www-form-urlencoded', '/api/stop_training'],
  ] as const) {
    const frame = document.createElement('iframe');
    frame.name = `frame-${path}`;
    // A frame also loads with an error in it.
    const done = loaded(frame, 'a form', false);
    const form = document.createElement('form');
    Object.assign(form, { method: 'POST', enctype, action: target + path, target: frame.name });
    const field = document.createElement('input');
    Object.assign(field, { name: start.slice(0, -1), value: '"}' });
    form.append(field);
    document.body.append(form);
    await done;
    const answered = new Promise((resolve) => {
      frame.onload = resolve;
    });
    form.submit();
    await settled(answered);
  }
  await settled(
    new Promise<void>((resolve) => {
      const socket = new WebSocket(`${target.replace('http', 'ws')}/ws/training`);
      socket.onopen = () => {
        read.push('a WebSocket opened');
        resolve();
      };
      socket.onerror = () => resolve();
    }),
  );
  return read;
}

/** The state that an attack could change. */
const state = async () => {
  const paths = ['/api/models/', '/api/datasets', '/api/jobs', '/api/training_status'];
  return Promise.all(paths.map(async (path) => (await service.call('GET', path)).body));
};

for (const [what, attackerHost, targetHost] of [
  ['another site', 'evil.example', '127.0.0.1'],
  ['another site, to localhost', 'evil.example', 'localhost'],
  ['another port of the same machine', '127.0.0.1', '127.0.0.1'],
] as const) {
  test(`a page of ${what} reads and changes nothing`, async () => {
    const before = await state();
    const target = service.url.replace('127.0.0.1', targetHost);
    const page = await newPage();
    const heard: string[] = [];
    page.on('response', (response) => {
      if (!response.url().startsWith(target)) return;
      const request = response.request();
      heard.push(`${response.status()} ${request.resourceType()} ${request.method()} ${response.url()}`);
    });
    // Answers that the browser keeps from the page are seen here alone; their events come in any order.
    const session = await page.context().newCDPSession(page);
    const asked = new Map<string, string>();
    const statuses: [requestId: string, status: number][] = [];
    session.on('Network.requestWillBeSent', ({ requestId, request, type }) => {
      if (request.url.startsWith(target)) asked.set(requestId, `${type?.toLowerCase()} ${request.url}`);
    });
    session.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
      statuses.push([requestId, statusCode]);
    });
    const answersOf = () => [
      ...heard,
      ...statuses.filter(([id]) => asked.has(id)).map(([id, status]) => `${status} ${asked.get(id)}`),
    ];
    await session.send('Network.enable');
    await page.goto(`http://${attackerHost}:${sitePort}/`);
    assert.equal(await page.evaluate(attack, { target, modelId: model.modelId }), []);
    // Preflights have the type `other`.
    const types = ['fetch', 'other', 'image', 'script', 'stylesheet', 'document'];
    const missing = () =>
      types.filter((type) => !answersOf().some((answer) => answer.split(' ')[1] === type));
    await until(() => missing().length === 0, 'each kind of request was answered').catch((error) => {
      throw new Error(`${error.message}: no ${missing().join(', ')} in ${answersOf().join('\n')}`);
    });
    assert.equal(
      answersOf().filter((answer) => !answer.startsWith('403 ')),
      [],
    );
    assert.equal(await state(), before);
    await page.close();
  });
}

test('the page shows in no frame of another site, but a link leads to it', async () => {
  const page = await newPage();
  await page.goto(`http://evil.example:${sitePort}/`);
  const shown = page.waitForEvent('response', (response) => response.url().startsWith(service.url));
  await page.evaluate((url) => {
    const frame = document.createElement('iframe');
    frame.src = url;
    document.body.append(frame);
  }, service.url);
  assert.is((await shown).headers()['x-frame-options'], 'DENY');
  await page.evaluate((url) => {
    const link = document.createElement('a');
    link.href = url;
    link.textContent = 'to Hone';
    document.body.append(link);
  }, service.url);
  await page.getByText('to Hone').click();
  await page.waitForURL(`${service.url}/**`);
  assert.match(await page.title(), 'Hone');
  await page.close();
});

test('a name that was rebound to this machine gets nothing, as page, by fetch and as socket', async () => {
  const page = await newPage();
  const rebound = service.url.replace('127.0.0.1', 'rebound.example');
  const response = await page.goto(`${rebound}/`);
  assert.is(response?.status(), 403);
  // Its origin and host agree, as after rebinding.
  const statuses = await page.evaluate(async (modelId) => {
    const ask = async (method: string, path: string) => (await fetch(path, { method })).status;
    return [
      await ask('GET', '/api/models/'),
      await ask('POST', '/api/stop_training'),
      await ask('DELETE', `/api/models/${modelId}`),
    ];
  }, model.modelId);
  assert.equal(statuses, [403, 403, 403]);
  const opened = await page.evaluate(
    (url) =>
      new Promise<boolean>((resolve) => {
        const socket = new WebSocket(url);
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
      }),
    `${rebound.replace('http', 'ws')}/ws/training`,
  );
  assert.not(opened);
  assert.is((await service.call('GET', `/api/models/${model.id}`)).status, 200);
  await page.close();
});

test.run();
