import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../src/db/store.ts';
import { root } from './folders.ts';
import { writeTinyAdapter, writeTinyGguf } from './native/tiny-gguf.ts';

/** A model in the data directory of a service that has not been started yet. */
export interface StoredModel {
  readonly id: number;
  readonly modelId: string;
  /** The model's folder. */
  readonly path: string;
  /** Its F32 file. */
  readonly gguf: string;
}

/** How a stored model was trained. */
interface Trained {
  /** The seed of its adapter (`writeTinyAdapter`). */
  readonly adapter: number;
  /** What its folder says of its base; nothing, if it is of an earlier version. */
  readonly note?: { readonly base: string; readonly file: string };
  readonly baseModel?: string;
}

interface Shape {
  /** The most tokens of a prompt and its answer. */
  readonly context?: number;
  readonly layers?: number;
  /** As `writeTinyGguf` has it. */
  readonly next?: (token: number) => number;
  /** Its chat template; by default the contents of messages alone. */
  readonly chatTemplate?: string;
  /** Whether that is its base's own, so that it converses in the page. */
  readonly isOwn?: boolean;
  /** Whether its prompt begins reasoning, which ends with `</think>`. */
  readonly isThinking?: boolean;
}

const contents = "{% for message in messages %}{{ message['content'] }}{% endfor %}";

const thinking = { switch: null, open: '<think>', close: '</think>', opens: true, opens_on: true };

/** Stores a tiny model of random weights with its template, without a training. */
export function storeModel(
  dataDir: string,
  name = 'tiny',
  trained?: Trained,
  { context = 64, chatTemplate = contents, isOwn = false, isThinking = false, ...more }: Shape = {},
): StoredModel {
  const modelId = randomUUID();
  const path = join(dataDir, 'model_checkpoints', modelId);
  const gguf = join(path, 'model-F16.gguf');
  mkdirSync(path, { recursive: true });
  const shape = { context: Math.max(128, context), ...more };
  writeTinyGguf(gguf, trained === undefined ? shape : { ...shape, adapter: trained.adapter });
  if (trained !== undefined) writeTinyAdapter(join(path, 'adapter.gguf'), trained.adapter);
  if (trained?.note !== undefined) writeFileSync(join(path, 'base.json'), JSON.stringify(trained.note));
  const template = {
    chat_template: chatTemplate,
    ...(isThinking ? { thinking } : {}),
    ...{ bos_token: '<s>', eos_token: '</s>', stop: [], context_length: context },
    source: isOwn ? 'model' : 'hone',
  };
  writeFileSync(join(path, 'template.json'), JSON.stringify(template));
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const id = store.models.insert({
    ...{
      modelId,
      name,
      path,
      jobId: null,
      baseModel: trained?.baseModel ?? 'tiny',
      datasetName: 'none.jsonl',
    },
    ...{ task: 'text-generation', provider: 'standard', strategy: 'sft', config: {}, metrics: {} },
    ...{ createdAt: new Date().toISOString(), sizeBytes: 0, verification: null },
    artifacts: [
      { kind: 'gguf', path: 'model-F16.gguf', bytes: 0, quantization: 'F16' },
      ...(trained === undefined
        ? []
        : [{ kind: 'adapter_gguf', path: 'adapter.gguf', bytes: 0, quantization: null }]),
      { kind: 'template', path: 'template.json', bytes: 0, quantization: null },
    ],
  });
  store.close();
  return { id, modelId, path, gguf };
}

/** `next` of a model that goes on with a text behind `#`, and ends. Tokens are bytes, three further on; 2 is the end. */
export function saying(text: string): (token: number) => number {
  const tokens = [...Buffer.from(`#${text}`)].map((byte) => byte + 3);
  return (token) => {
    const at = tokens.indexOf(token);
    return token === 2 ? (tokens[0] as number) : at < 0 ? token : (tokens[at + 1] ?? 2);
  };
}
