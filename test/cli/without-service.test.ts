/** Commands where no service runs, and what needs none: help and completion. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { commands } from '../../src/cli/commands.ts';
import { nearest } from '../../src/cli/nearest.ts';
import { newPart } from '../../src/cli/verbs/logs.ts';
import { temporaryFolder } from '../service.ts';
import { runHone } from './run-hone.ts';

const folder = temporaryFolder();
const env = { SERVICE_DATA_DIR: join(folder, 'data'), XDG_CACHE_HOME: join(folder, 'cache'), HOME: folder };
const hone = (args: readonly string[], more: NodeJS.ProcessEnv = {}) =>
  runHone(args, { cwd: folder, env: { ...env, ...more } });

test('every command is listed, and has help with examples of itself', async () => {
  const { out } = await hone(['--help']);
  for (const { name, examples } of commands) {
    assert.match(out, new RegExp(`^  ${name} `, 'm'));
    const help = await hone([name, '--help']);
    assert.is(help.code, 0);
    assert.match(help.out, new RegExp(`^Usage: hone ${name} `));
    for (const example of examples) assert.ok(help.out.includes(example) && example.includes(`hone ${name}`));
  }
});

test('bash completes commands, flags and values', async () => {
  const { out: script } = await hone(['completion', 'bash']);
  writeFileSync(join(folder, 'completion.bash'), script);
  const complete = (...words: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hone; echo "\${COMPREPLY[@]}"`,
        'bash',
        join(folder, 'completion.bash'),
        ...words,
      ],
      { encoding: 'utf8' },
    ).trim();
  assert.is(complete('hone', 'tr'), 'train');
  assert.is(complete('hone', 'train', '--lora-a'), '--lora-alpha');
  assert.is(complete('hone', 'train', '--device', 'c'), 'cuda cpu');
  assert.is(complete('hone', 'export', '--to', ''), 'gguf merged adapter adapter-gguf ollama lmstudio');
  for (const shell of ['zsh', 'fish']) assert.match((await hone(['completion', shell])).out, /lora-alpha/);
  assert.is((await hone(['completion', 'csh'])).code, 2);
});

test('a command starts a service for the moment, and ends it', async () => {
  const { code, out, errors } = await hone(['datasets', '--json']);
  assert.is(code, 0, errors);
  assert.equal(JSON.parse(out), { datasets: [] });
  assert.match(readFileSync(join(folder, 'cache', 'hone', 'command-service.log'), 'utf8'), /"url"/);
  assert.throws(() => readFileSync(join(env.SERVICE_DATA_DIR, 'service.json')), /ENOENT/);
});

test('a service of another version is told', async () => {
  const other = createServer((_, reply) => reply.end('{"version": "v1"}'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const data = join(folder, 'other');
  mkdirSync(data);
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const service = { pid: process.pid, url, key: 'k', certificate: null };
  writeFileSync(join(data, 'service.json'), JSON.stringify(service));
  const { code, errors } = await hone(['models'], { SERVICE_DATA_DIR: data });
  other.close();
  assert.is(code, 3);
  assert.match(errors, /speaks version v1 of the API, and this command v2/);
});

test('a service that cannot start is told with its reason', async () => {
  writeFileSync(join(folder, 'file'), '');
  const { code, errors } = await hone(['models'], { SERVICE_DATA_DIR: join(folder, 'file', 'data') });
  assert.is(code, 3);
  assert.match(errors, /did not start[\s\S]*ENOTDIR/);
});

test('the nearest name, and the new part of a log', () => {
  assert.is(nearest('learning_rat', ['lora_r', 'learning_rate']), 'learning_rate');
  assert.is(nearest('bogus', ['lora_r', 'learning_rate']), null);
  const log = Array.from({ length: 2000 }, (_, line) => `line ${line}\n`).join('');
  assert.is(newPart(log, `${log}more`), 'more');
  assert.is(newPart(log, `${log.slice(5000)}more`), 'more');
  assert.is(newPart('', 'all'), 'all');
  assert.is(newPart(log, log), '');
});

test.run();
