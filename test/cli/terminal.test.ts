/** Commands on a terminal, and the completions of shells, as a person uses them. */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  untilEnded,
} from '../service.ts';
import { runHone } from './run-hone.ts';

const folder = temporaryFolder();
const python = join(root, 'trainer', '.venv', 'bin', 'python');
let service: TestService;
let model = '';

const has = (program: string) => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Runs `hone ARGS…` on a terminal. @param steps what to wait for, and what to type then. */
function onTerminal(args: readonly string[], steps: readonly [string, string][]) {
  const program = [process.execPath, join(root, 'setup.mjs'), ...args];
  const child = spawn(python, [join(root, 'test', 'cli', 'terminal.py'), ...program], {
    env: { ...process.env, SERVICE_DATA_DIR: service.dataDir, HOME: folder, TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(steps));
  let out = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  return new Promise<{ code: number; screen: string }>((resolve) =>
    child.once('close', () => resolve(JSON.parse(out))),
  );
}

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/start_training', quickRequest());
  await untilEnded(service);
  model = (await service.call('GET', '/api/catalog')).body.models[0].name;
});
test.after(endAll);

/** What a terminal is sent for a new prompt. */
const prompt = '\x1b[1G\x1b[0J> ';
const end = '\x04';
const interrupt = '\x03';

test('a conversation: prompts one after the other, until the end of the input', async () => {
  const flags = ['--temperature', '0', '--max-tokens', '6'];
  const { code, screen } = await onTerminal(
    ['chat', model, ...flags],
    [
      [prompt, 'My parcel has not come.\r'],
      [prompt, 'When will it?\r'],
      [prompt, end],
    ],
  );
  assert.is(code, 0, screen);
  const messages: { role: string; content: string }[] = [];
  for (const content of ['My parcel has not come.', 'When will it?']) {
    messages.push({ role: 'user', content });
    const body = { model, messages, temperature: 0, max_tokens: 6 };
    const { choices } = (await service.call('POST', '/v1/chat/completions', body)).body;
    messages.push({ role: 'assistant', content: choices[0].message.content });
    // A terminal has line feeds of its own.
    const shown = choices[0].message.content.replaceAll('\n', '\r\n').trim();
    assert.ok(screen.includes(shown), `${JSON.stringify(screen)} has not ${JSON.stringify(shown)}`);
  }
});

test('Ctrl+C ends an answer, and at a prompt the conversation', async () => {
  const { code, screen } = await onTerminal(
    ['chat', model, '--max-tokens', '400', '--temperature', '0'],
    [
      [prompt, 'Tell me all.\r'],
      ['Tell me all.\r', interrupt],
      [prompt, interrupt],
    ],
  );
  assert.is(code, 130, screen);
  const messages = [{ role: 'user', content: 'Tell me all.' }];
  const body = { model, messages, temperature: 0, max_tokens: 400 };
  const { choices } = (await service.call('POST', '/v1/chat/completions', body)).body;
  const whole = choices[0].message.content.replaceAll('\n', '\r\n').trim();
  assert.not.ok(screen.includes(whole), 'the answer ended before its end');
});

test('a training shows how far it is, in place', async () => {
  const rows = join(folder, 'support.jsonl');
  writeFileSync(rows, supportRows());
  const settings = ['--model', quickRequest().model_name, '--max-steps', '3'];
  const { code, screen } = await onTerminal(['train', rows, ...settings, '--follow'], []);
  assert.is(code, 0, screen);
  assert.match(screen, /Training {2}[█░]{24} +\d+% · \d+ s · /);
  assert.ok(screen.includes('\r\x1b[K'), 'each over the one before');
  assert.match(screen, /is completed\. Its model is/);
});

const fishTest = has('fish') ? test : test.skip;
if (!has('fish')) console.log('The completion of fish is left out: fish is not installed');
fishTest('fish completes commands, flags and values', async () => {
  const script = join(folder, 'hone.fish');
  writeFileSync(script, (await runHone(['completion', 'fish'], { cwd: folder })).out);
  const complete = (line: string) =>
    execFileSync('fish', ['--no-config', '-c', `source ${script}; complete -C '${line}'`], {
      encoding: 'utf8',
      cwd: folder,
    })
      .trim()
      .split('\n')
      .map((one) => one.split('\t')[0]);
  assert.equal(complete('hone tr'), ['train']);
  assert.equal(complete('hone train --lora-a'), ['--lora-alpha']);
  assert.equal(complete('hone train --device '), ['auto', 'cpu', 'cuda', 'mps']);
});

const zshTest = has('zsh') ? test : test.skip;
if (!has('zsh')) console.log('The completion of zsh is left out: zsh is not installed');
zshTest('zsh completes commands, flags and values', async () => {
  writeFileSync(join(folder, '_hone'), (await runHone(['completion', 'zsh'], { cwd: folder })).out);
  // The line that is edited after Tab, on a terminal of zsh's own module.
  const probe = `
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'autoload -Uz compinit; compinit -u -D; source ${join(folder, '_hone')}
      setopt no_auto_menu; show() { print -r -- "LINE[$BUFFER]" }; zle -N show; bindkey "^X" show; print READ""Y'
    zpty -r shell out '*READY*'
    zpty -w -n shell "$1"$'\\t\\x18'
    zpty -r shell out '*LINE\\[*\\]*'
    print -r -- "$out"
    zpty -d shell`;
  const complete = (line: string) =>
    /LINE\[(.*?)\]/.exec(
      execFileSync('zsh', ['-f', '-c', probe, 'zsh', line], {
        encoding: 'utf8',
        cwd: folder,
        timeout: 60_000,
      }),
    )?.[1];
  assert.is(complete('hone tr'), 'hone train ');
  assert.is(complete('hone train --lora-a'), 'hone train --lora-alpha ');
  assert.is(complete('hone train --device m'), 'hone train --device mps ');
});

test.run();
