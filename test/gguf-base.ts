import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { ggufParts } from '../src/contract/models/gguf-parts.ts';
import { type Json, root, type TestService, untilEnded } from './service.ts';

/** Tokens that llama.cpp writes after a prompt, greedily. */
const answerTokens = 16;

/** What llama.cpp makes of a file: the tokens of texts, and how it goes on after prompts of tokens. */
export function askFile(gguf: string, request: { texts?: string[]; prompts?: number[][]; adapter?: string }) {
  const { texts = [], prompts = [], adapter } = request;
  const input = JSON.stringify({
    ...{ gguf, texts, sequences: [] },
    adapters: adapter === undefined ? [] : [{ path: adapter, scale: 1 }],
    continuations: prompts.map((tokens) => ({ tokens, maxTokens: answerTokens })),
  });
  const told = execFileSync(process.execPath, [join(root, 'dist', 'score.js')], {
    input,
    maxBuffer: 2 ** 28,
  });
  return JSON.parse(told.toString()) as { texts: number[][]; continuations: number[][] };
}

/**
 * Trains a GGUF file and checks what becomes of it: its folder, tokens, the merged file, and the adapter on the very file.
 * @returns the job.
 */
export async function trainGguf(
  service: TestService,
  gguf: string,
  request: Json,
  timeoutMs?: number,
): Promise<Json> {
  const check = await service.call('POST', '/api/base_models/check', { model: gguf });
  assert.is(check.body.usable, true, JSON.stringify(check.body));
  const before = await service.call('POST', '/api/estimate', { ...request, model_name: gguf });
  assert.is(before.status, 200, JSON.stringify(before.body));
  const started = await service.call('POST', '/api/start_training', { ...request, model_name: gguf });
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service, timeoutMs)).status, 'completed');
  const job = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  assert.is(job.export.state, 'done', JSON.stringify(job.export));
  const model = (await service.call('GET', `/api/models/${job.model_id}`)).body;
  const file = (name: string) => join(service.dataDir, 'model_checkpoints', model.model_id, name);
  const merged = file(job.artifacts.find(({ kind }: Json) => kind === 'gguf').path.replace('artifacts/', ''));
  const adapter = file('adapter.gguf');
  const modelfile = file('adapter.Modelfile');
  // Ollama reads no split files.
  if (ggufParts(gguf).length > 1) assert.not(existsSync(modelfile));
  else
    assert.match(
      readFileSync(modelfile, 'utf8'),
      new RegExp(`^FROM ${gguf.replaceAll('.', '\\.')}\nADAPTER \\./adapter\\.gguf\n`),
    );
  const rows = readFileSync(join(root, 'examples', request.dataset), 'utf8')
    .split('\n')
    .slice(0, 20);
  const texts = rows.filter((row) => row !== '').flatMap((row) => Object.values<string>(JSON.parse(row)));
  const original = askFile(gguf, { texts });
  assert.equal(askFile(merged, { texts }).texts, original.texts, 'the merged file has other tokens');
  const prompts = original.texts.filter((tokens) => tokens.length > 4).slice(0, 6);
  const base = askFile(gguf, { prompts }).continuations;
  const onBase = askFile(gguf, { prompts, adapter }).continuations;
  const ofMerged = askFile(merged, { prompts }).continuations;
  assert.not.equal(onBase, base, 'the adapter changes nothing on its base');
  return { ...job, agreement: agreement(onBase, ofMerged) };
}

/** How many of the first tokens are equal, 0 to 1: the merged file is quantized otherwise than the base. */
function agreement(one: number[][], other: number[][]): number {
  const equal = one.filter((tokens, index) => tokens[0] === other[index]?.[0]).length;
  return equal / one.length;
}
