import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkBase, locateModel } from '../../../src/domain/base-models/base-model.ts';
import { createLocalModels } from '../../../src/domain/base-models/local-models.ts';
import { createModelSizes } from '../../../src/domain/base-models/model-size.ts';
import type { AppError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../folders.ts';
import { layOutLmStudio, layOutOllama } from '../../gguf-caches.ts';
import { writeTinyGguf } from '../../native/tiny-gguf.ts';
import { splitGguf } from '../../split-gguf.ts';

const home = temporaryFolder();
const tiny = join(temporaryFolder(), 'tiny-F32.gguf');
writeTinyGguf(tiny);
process.env.HOME = home;
process.env.HF_HUB_CACHE = join(home, 'hub');
for (const name of ['OLLAMA_MODELS', 'LLAMA_CACHE', 'HF_HOME']) delete process.env[name];

const sizeOf = createModelSizes({ endpoint: 'http://127.0.0.1:9', token: null } as never);
const list = createLocalModels({ starter: async () => null, trained: () => [], sizeOf });
const refusal = async (path: string): Promise<string> => {
  const base = locateModel(path);
  const error = await checkBase({ ...base, path: base.path ?? '' }).then(
    () => assert.unreachable(`${path} was accepted`),
    (thrown: AppError) => thrown,
  );
  return String(error?.issues?.[0]?.msg ?? error?.message);
};

test('the files of other programs are found, with what their headers say', async () => {
  const studio = layOutLmStudio(home, tiny);
  const ollama = layOutOllama(home, tiny);
  const cpp = join(home, '.cache', 'llama.cpp', 'owner_Model_tiny-F32.gguf');
  const hub = join(home, 'hub', 'models--owner--Model', 'snapshots', '0'.repeat(40), 'tiny-F32.gguf');
  const blob = join(home, 'hub', 'models--owner--Model', 'blobs', 'a'.repeat(64));
  for (const path of [cpp, hub, blob]) mkdirSync(join(path, '..'), { recursive: true });
  copyFileSync(tiny, cpp);
  copyFileSync(tiny, blob);
  symlinkSync(blob, hub);
  const found = await list();
  assert.equal(
    found.map(({ model, kind, gguf }) => [model, kind, gguf?.program, gguf?.name, gguf?.architecture]),
    [
      [studio, 'gguf', 'LM Studio', 'owner/Model-GGUF/tiny-F32.gguf', 'llama'],
      [ollama, 'gguf', 'Ollama', 'smollm2:135m', 'llama'],
      [cpp, 'gguf', 'llama.cpp', 'owner_Model_tiny-F32.gguf', 'llama'],
      [hub, 'gguf', 'hub cache', 'owner/Model/tiny-F32.gguf', 'llama'],
    ],
  );
  assert.is(found[0]?.gguf?.bytes, statSync(tiny).size);
  assert.is(found[0]?.bytes, statSync(tiny).size);
  assert.ok((found[0]?.size.parameters ?? 0) > 0);
  for (const { model } of found) {
    const base = locateModel(model);
    const kind = await checkBase({ ...base, path: base.path ?? '' });
    assert.is(kind?.architecture, 'LlamaForCausalLM');
    assert.is(kind?.modelType, 'llama');
    assert.is(kind?.quantization, null, 'its weights become 16-bit weights');
  }
});

test('what is no whole model, or leads out of a cache, is not offered', async () => {
  const before = (await list()).length;
  const folder = join(home, '.lmstudio', 'models', 'owner', 'Other');
  mkdirSync(folder, { recursive: true });
  for (const name of ['mmproj-F16.gguf', 'big-00001-of-00002.gguf']) copyFileSync(tiny, join(folder, name));
  writeFileSync(join(folder, 'damaged.gguf'), 'GGUF and nothing more');
  symlinkSync(tiny, join(folder, 'link.gguf'));
  const manifests = join(home, '.ollama', 'models', 'manifests', 'registry.ollama.ai', 'library', 'bad');
  mkdirSync(manifests, { recursive: true });
  const layer = { mediaType: 'application/vnd.ollama.image.model', digest: 'sha256:../../../etc/passwd' };
  writeFileSync(join(manifests, 'latest'), JSON.stringify({ layers: [layer] }));
  writeFileSync(join(manifests, 'torn'), '{"layers": [');
  assert.is((await list()).length, before);
});

test('a file that cannot be a base is refused with the reason', async () => {
  const folder = temporaryFolder();
  const named = (name: string) => join(folder, name);
  writeFileSync(named('torn.gguf'), 'GGUF');
  assert.match(await refusal(named('torn.gguf')), /torn\.gguf is damaged or not a GGUF file/);
  assert.match(await refusal(named('none.gguf')), /none\.gguf does not exist/);
  symlinkSync(tiny, named('link.gguf'));
  assert.match(await refusal(named('link.gguf')), /is a link that leads out of the folder/);
  const other = named('other.gguf');
  const ofArchitecture = (name: string) =>
    writeFileSync(other, readFileSync(tiny, 'latin1').replaceAll('llama', name), 'latin1');
  ofArchitecture('plamo');
  assert.match(await refusal(other), /architecture plamo cannot be a base model; those of llama, qwen2, /);
  ofArchitecture('dream');
  assert.match(await refusal(other), /architecture dream, which llama\.cpp cannot use for text generation/);
});

test('a split file is offered as one, by its first part, when all parts are there', async () => {
  const repository = join(home, 'hub', 'models--owner--Split', 'snapshots', '0'.repeat(40), 'Q4_K_M');
  const blobs = join(home, 'hub', 'models--owner--Split', 'blobs');
  for (const folder of [repository, blobs]) mkdirSync(folder, { recursive: true });
  const before = (await list()).length;
  copyFileSync(tiny, join(blobs, 'split.gguf'));
  const parts = splitGguf(join(blobs, 'split.gguf'), 3).map((part, index) => {
    renameSync(part, join(blobs, `${index}`.repeat(64)));
    const link = join(repository, basename(part));
    symlinkSync(join(blobs, `${index}`.repeat(64)), link);
    return link;
  });
  const [first = '', second = '', third = ''] = parts;
  const found = (await list()).filter(({ model }) => parts.includes(model));
  assert.equal(
    found.map(({ model, gguf }) => [model, gguf?.program, gguf?.bytes]),
    [[first, 'hub cache', parts.reduce((sum, part) => sum + statSync(part).size, 0)]],
  );
  const base = locateModel(first);
  const kind = await checkBase({ ...base, path: base.path ?? '' });
  assert.is(kind?.architecture, 'LlamaForCausalLM');
  assert.is((await sizeOf(first)).parameters, (await sizeOf(tiny)).parameters);
  utimesSync(third, 1, 1);
  assert.is.not(locateModel(first).path, base.path, 'a change of any part is one of the model');

  assert.match(
    await refusal(second),
    /00002-of-00003\.gguf is a part of a split file: name its first, \/.*00001-of/,
  );
  const swapped = temporaryFolder();
  for (const [index, part] of [first, third, second].entries())
    copyFileSync(part, join(swapped, basename(parts[index] as string)));
  assert.match(
    await refusal(join(swapped, basename(first))),
    /-00002-of-00003\.gguf is not part 2 of 3 of its model/,
  );
  copyFileSync(first, join(swapped, 'renamed.gguf'));
  assert.match(await refusal(join(swapped, 'renamed.gguf')), /first of 3 parts.*name does not say/);
  rmSync(second);
  assert.match(
    await refusal(first),
    /-00002-of-00003\.gguf does not exist, and all 3 parts of the model are needed/,
  );
  assert.is((await list()).length, before, 'it is not offered without one of them');
});

test('the folder of a file follows its content, not its place, and the size is known without it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.gguf');
  copyFileSync(tiny, path);
  const { path: made, gguf } = locateModel(path);
  assert.is(gguf, path);
  const moved = join(folder, 'b.gguf');
  renameSync(path, moved);
  assert.is(locateModel(moved).path, made);
  utimesSync(moved, 1, 1);
  assert.is.not(locateModel(moved).path, made);
  const size = await sizeOf(moved);
  assert.is(size.local, false, 'the folder is still to be made');
  assert.is(size.shape?.layers, 2);
  assert.is(size.shape?.hidden, 256);
  assert.ok((size.parameters ?? 0) > 1e6);
});

test.run();
