/*
 * Little programs that end in every way while the addon is at work; plain JavaScript, so that they can also
 * run in a worker thread:  node ends.mjs ADDON MODE
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

const [addonFile, mode] = process.argv.slice(2);
const loaded = () =>
  process.report.getReport().sharedObjects.filter((file) => /nvidia|cuda|llama|ggml/.test(file));
const addon = createRequire(import.meta.url)(addonFile);
const loadedAtFirst = loaded();
const host = { procStat: '/proc/stat', meminfo: '/proc/meminfo' };
const engine = JSON.parse(process.env.ENGINE ?? '{}');

const sample = (onBatch, intervalMs = 1) =>
  addon.startSampler({ intervalMs, batchMs: 0, gpus: true, host, onBatch });

function codeOfThrown(call) {
  try {
    call();
    return 'no exception';
  } catch (error) {
    return error.code;
  }
}

/** Runs `body` in a worker thread and terminates it after its first message. */
async function inWorker(body) {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const addon = require(workerData.addonFile);
     const { host, engine } = workerData;
     ${body}`,
    { eval: true, workerData: { addonFile, host, engine } },
  );
  await new Promise((done, fail) => {
    worker.once('message', done);
    worker.once('error', fail);
  });
  await worker.terminate();
}

const modes = {
  /** A driver is opened when it is asked, and the engine when it is needed: nothing is linked. */
  loads: async () => {
    if (loadedAtFirst.length > 0) throw new Error(`loaded with the addon: ${loadedAtFirst}`);
    const alive = setTimeout(() => {}, 60_000);
    await new Promise((done) => addon.readGpus(done));
    clearTimeout(alive);
    if (loaded().length === 0) throw new Error('nothing was loaded for the facts');
  },
  /** The process runs out of work while a sampler runs and a question to the driver is open. */
  idle: async () => {
    sample(() => {});
    addon.readGpus(() => {});
  },
  exit: async () => {
    addon.readGpus(() => {});
    await new Promise((done) => {
      sample(done);
      setTimeout(() => {}, 60_000);
    });
    process.exit(0);
  },
  /** Many samplers in worker threads that are terminated; then one here still works. */
  workers: async () => {
    for (let i = 0; i < 8; i += 1) {
      await inWorker(`
        addon.readGpus(() => {});
        setInterval(() => {}, 1000);
        addon.startSampler({ intervalMs: 1, batchMs: 0, gpus: true, host, onBatch: () => parentPort.postMessage(1) });
      `);
    }
    const alive = setTimeout(() => {}, 60_000);
    await new Promise((done) => sample(done));
    clearTimeout(alive);
  },
  /** A worker thread that is terminated in the middle of quantizing. */
  quantizing: async () => {
    for (let i = 0; i < 3; i += 1) {
      await inWorker(`
        addon.quantize({ ...engine, type: 'Q8_0', threads: 1, onProgress: () => parentPort.postMessage(1), onEnd: () => {} });
      `);
    }
  },
  /** A listener that throws is an uncaught exception, and the sampling goes on. */
  throws: async () => {
    let thrown = 0;
    process.on('uncaughtException', () => {
      thrown += 1;
    });
    const alive = setTimeout(() => {}, 60_000);
    sample(() => {
      throw new Error('listener');
    });
    while (thrown < 3) await new Promise((done) => setTimeout(done, 5));
    clearTimeout(alive);
  },
  /** Starting and stopping without end. */
  restarts: async () => {
    for (let i = 0; i < 300; i += 1) sample(() => {}).stop();
    const alive = setTimeout(() => {}, 60_000);
    await new Promise((done) => sample(done));
    clearTimeout(alive);
  },
  /** A system that gives no further thread: an exception each, and everything works again afterwards. */
  threads: async () => {
    const calls = [
      () => sample(() => {}),
      () => addon.readGpus(() => {}),
      () => addon.quantize({ ...engine, type: 'Q8_0', onProgress: () => {}, onEnd: () => {} }),
    ];
    process.env.FAKE_NO_THREADS = '1';
    for (const call of calls) {
      const code = codeOfThrown(call);
      if (code !== 'no_thread') throw new Error(`${code} for ${call}`);
    }
    delete process.env.FAKE_NO_THREADS;
    const alive = setTimeout(() => {}, 60_000);
    await new Promise((done) => addon.readGpus(done));
    await new Promise((done) => sample(done));
    clearTimeout(alive);
  },
  /** Wrong arguments are exceptions. */
  arguments: async () => {
    for (const bad of [
      () => addon.startSampler(),
      () => addon.startSampler({}),
      () => addon.startSampler({ onBatch: () => {}, intervalMs: -1 }),
      () => addon.startSampler({ onBatch: () => {}, intervalMs: Number.NaN }),
      () => addon.quantize(),
      () => addon.quantize({}),
      () => addon.quantize({ ...engine, type: 'Q8_0' }),
      () => addon.quantize({ ...engine, input: 7, type: 'Q8_0', onProgress: () => {}, onEnd: () => {} }),
      () => addon.readGpus(),
    ]) {
      const code = codeOfThrown(bad);
      if (code !== 'invalid_argument') throw new Error(`${code} for ${bad}`);
    }
    const codeOf = (change) =>
      new Promise((done) => {
        const onEnd = (error) => done(error?.code);
        addon.quantize({ ...engine, type: 'Q8_0', onProgress: () => {}, onEnd, ...change });
      });
    for (const [change, code] of [
      [{ llama: '/no/such/library.so' }, 'library_missing'],
      [{ llama: engine.input }, 'library_unloadable'],
      [{ llama: engine.ggmlBase }, 'library_unloadable'],
      [{ type: 'Q3' }, 'unsupported_type'],
    ]) {
      const found = await codeOf(change);
      if (found !== code) throw new Error(`${code} was expected, not ${found}`);
    }
  },
};

await modes[mode]();
process.stdout.write('done\n');
