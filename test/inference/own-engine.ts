import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine, type Engine, type EngineOptions } from '../../src/inference/engine/engine.ts';
import { root } from '../folders.ts';

// The built worker needs no loader of TypeScript.
process.execArgv = [];

/** An engine that waits as long as it takes. */
export const patientEngine = (more: Partial<EngineOptions> = {}): Engine =>
  createEngine({
    workerPath: join(root, 'dist', 'inference-worker.js'),
    ...{ gpu: false, idleMs: 600_000, silenceMs: 600_000, stallMs: 600_000, maxLoaded: 1, maxPending: 64 },
    logger: { debug() {}, info() {}, warn() {} },
    ...more,
  });

/** The engine of a test file, with a folder for its models and the path of a template that is stored there. */
export function ownEngine(more: Partial<EngineOptions> = {}, chatTemplate = '{{ messages[0].content }}') {
  const folder = mkdtempSync(join(tmpdir(), 'hone-inference-'));
  const templatePath = join(folder, 'template.json');
  const tokens = { bos_token: '<s>', eos_token: '</s>', stop: [], context_length: null };
  writeFileSync(templatePath, JSON.stringify({ chat_template: chatTemplate, ...tokens, source: 'hone' }));
  const engine = patientEngine(more);
  return {
    ...{ folder, templatePath, engine },
    /** Ends the engine, and deletes the folder. */
    async end(): Promise<void> {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
