/** Real GGUF files, laid out as Ollama's and LM Studio's, are trained, exported and asked on the very file. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { trainGguf } from '../gguf-base.ts';
import { layOutLmStudio, layOutOllama } from '../gguf-caches.ts';
import {
  endAll,
  type Json,
  quickRequest,
  realModelMs,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
} from '../service.ts';
import { realModel } from './real-model.ts';

const home = temporaryFolder();
const request = quickRequest({ max_steps: 10, learning_rate: 5e-4, max_seq_length: 256 });
let service: TestService;

test.before(async () => {
  const env = {
    HOME: home,
    XDG_CACHE_HOME: '',
    HF_HOME: '',
    HF_HUB_CACHE: join(home, 'hub'),
    OLLAMA_MODELS: '',
  };
  service = await startService({ env });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const files: readonly [string, (gguf: string) => string, Parameters<typeof realModel>[0], string][] = [
  ['SmolLM2 135M in Ollama’s folder', (gguf) => layOutOllama(home, gguf), 'smollm2', 'Q4_1'],
  ['Gemma 3 270M in LM Studio’s folder', (gguf) => layOutLmStudio(home, gguf), 'gemma3-270m', 'Q4_K_M'],
];
for (const [name, layOut, model, quantization] of files) {
  test(`${name} trains, and its adapter fits the very file`, async () => {
    const gguf = layOut(await realModel(model));
    const { models } = (await service.call('GET', '/api/base_models')).body;
    assert.is(models.find((one: Json) => one.model === gguf)?.gguf.quantization, quantization);
    const job = await trainGguf(
      service,
      gguf,
      { ...request, export: { quantizations: ['F16'] } },
      realModelMs,
    );
    // The file is quantized to 4 bits, and the merged one is not.
    assert.ok(job.agreement >= 0.5, `${job.agreement} of the first tokens are equal`);
  });
}

test.run();
