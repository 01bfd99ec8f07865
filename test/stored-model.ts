import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/db/store.ts';
import { root } from './folders.ts';
import { writeTinyGguf } from './native/tiny-gguf.ts';

/** A model in the data directory of a service that has not been started yet. */
export interface StoredModel {
  readonly id: number;
  readonly modelId: string;
  /** The model's folder. */
  readonly path: string;
  /** Its F32 file. */
  readonly gguf: string;
}

/** Stores a tiny model of random weights with its template, without a training. */
export function storeModel(dataDir: string, name = 'tiny'): StoredModel {
  const modelId = randomUUID();
  const path = join(dataDir, 'model_checkpoints', modelId);
  const gguf = join(path, 'model-F16.gguf');
  mkdirSync(path, { recursive: true });
  writeTinyGguf(gguf);
  const template = {
    chat_template: "{% for message in messages %}{{ message['content'] }}{% endfor %}",
    ...{ bos_token: '<s>', eos_token: '</s>', stop: [], context_length: 64, source: 'hone' },
  };
  writeFileSync(join(path, 'template.json'), JSON.stringify(template));
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const id = store.models.insert({
    ...{ modelId, name, path, jobId: null, baseModel: 'tiny', datasetName: 'none.jsonl' },
    ...{ task: 'text-generation', provider: 'standard', strategy: 'sft', config: {}, metrics: {} },
    ...{ createdAt: new Date().toISOString(), sizeBytes: 0, verification: null },
    artifacts: [
      { kind: 'gguf', path: 'model-F16.gguf', bytes: 0, quantization: 'F16' },
      { kind: 'template', path: 'template.json', bytes: 0, quantization: null },
    ],
  });
  store.close();
  return { id, modelId, path, gguf };
}
