import { runClusterCommand } from './cluster.ts';
import { readConfig } from './config.ts';
import { runDoctor } from './doctor.ts';
import { asAppError } from './errors.ts';
import { runImport } from './import-openai.ts';
import { joinCluster } from './join.ts';
import { runKeyCommand } from './key.ts';
import { createLogger } from './logger.ts';
import { serve } from './serve.ts';
import { stopService } from './stop.ts';

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env, process.cwd());
  if (config.verb === 'serve') await serve(config, createLogger(config));
  else if (config.verb === 'stop') process.exitCode = await stopService(config, createLogger(config));
  else if (config.verb === 'key') await runKeyCommand(config);
  else if (config.verb === 'import') process.exitCode = await runImport(config);
  else if (config.verb === 'cluster') await runClusterCommand(config);
  else if (config.verb === 'join') process.exitCode = await joinCluster(config);
  else process.exitCode = await runDoctor(config);
}

main().catch((error) => {
  const { kind, message, stack } = asAppError(error);
  process.stderr.write(`hone: ${kind === 'internal' ? stack : message}\n`);
  process.exit(1);
});
