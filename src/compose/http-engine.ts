import { join } from 'node:path';
import type { Config } from '../config.ts';
import { chooseEngine, type EngineChoice } from '../http/engines/choose.ts';
import { nativeFiles } from '../http/engines/natives.ts';
import type { Tls } from '../http/engines/tls.ts';

/** The HTTP server's parts on this machine. */
export const chooseHttpEngine = (config: Config, tls: Tls | null): Promise<EngineChoice> =>
  chooseEngine({
    wanted: config.httpEngine,
    tls,
    natives: nativeFiles(config.installDir),
    trialProgram: join(config.installDir, 'dist', 'try-uws.js'),
    memoryPath: join(config.cacheDir, `http-engine-${process.versions.modules}.json`),
  });
