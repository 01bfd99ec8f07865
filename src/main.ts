import { runClusterCommand } from './commands/cluster.ts';
import { runDoctor } from './commands/doctor.ts';
import { runImport } from './commands/import-openai.ts';
import { joinCluster } from './commands/join.ts';
import { runJudgeKeyCommand } from './commands/judge-key.ts';
import { runKeyCommand } from './commands/key.ts';
import { runMcp } from './commands/mcp.ts';
import { runMaskCommand } from './commands/optional/mask.ts';
import { runTrackCommand } from './commands/optional/track.ts';
import { makeReport } from './commands/report.ts';
import { serve } from './commands/serve.ts';
import { stopService } from './commands/stop.ts';
import { readConfig } from './config.ts';
import { asAppError } from './errors.ts';
import { createLogger } from './logger.ts';

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env, process.cwd());
  if (config.verb === 'serve') await serve(config, createLogger(config));
  else if (config.verb === 'stop') process.exitCode = await stopService(config, createLogger(config));
  else if (config.verb === 'key') await runKeyCommand(config);
  else if (config.verb === 'judge-key') await runJudgeKeyCommand(config);
  else if (config.verb === 'track') await runTrackCommand(config);
  else if (config.verb === 'mask') await runMaskCommand(config);
  else if (config.verb === 'import') process.exitCode = await runImport(config);
  else if (config.verb === 'cluster') await runClusterCommand(config);
  else if (config.verb === 'join') process.exitCode = await joinCluster(config);
  else if (config.verb === 'mcp') await runMcp(config);
  else if (config.verb === 'report') process.exitCode = await makeReport(config);
  else process.exitCode = await runDoctor(config);
}

main().catch((error) => {
  const { kind, message, stack } = asAppError(error);
  process.stderr.write(`hone: ${kind === 'internal' ? stack : message}\n`);
  process.exit(1);
});
