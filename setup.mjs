#!/usr/bin/env node
// Everything that a fresh clone needs, with Node alone; every npm script and the command `hone` come here.

const VERBS = {
  serve: 'start the service (the default)   --port 8000  --host 0.0.0.0  --log-level info',
  stop: 'stop the training that is running, with or without a running service',
  demo: 'fine-tune a small model and ask it ten questions   --model owner/name  --port N',
  test: 'check and test everything; with a pattern only the files that match it',
  'test:long': 'the tests that take longer   --seed N  --count N',
  bench: 'measure   NAME…  --quick  --json FILE',
  doctor: 'print what is there, and try it',
};

const usage = () =>
  [
    'Usage: hone [VERB] [OPTIONS]   (or npm start, npm run demo, npm test …; options after --)',
    '',
    ...Object.entries(VERBS).map(([verb, text]) => `  ${verb.padEnd(10)} ${text}`),
    '',
    'Every verb first sets up what is missing; a second run finds it done.',
  ].join('\n');

async function main() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) {
    console.error(`hone: Node ${process.versions.node} is too old. Install Node 20, 22 or 24.`);
    return 1;
  }
  const args = process.argv.slice(2);
  const verb = args[0] === undefined || args[0].startsWith('-') ? 'serve' : args.shift();
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage());
    return 0;
  }
  if (!Object.hasOwn(VERBS, verb)) {
    console.error(`hone: there is no verb "${verb}".\n\n${usage()}`);
    return 2;
  }
  const { setUp } = await import('./setup/set-up.mjs');
  const { runVerb } = await import('./setup/verbs.mjs');
  return (await setUp(verb)) ? runVerb(verb, args) : 1;
}

// `undefined` leaves the end to what the verb started.
const code = await main();
if (code !== undefined) process.exitCode = code;
