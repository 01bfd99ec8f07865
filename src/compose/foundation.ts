import type { Config } from '../config.ts';
import type { Store } from '../db/store.ts';
import type { Bin } from '../domain/bin/bin.ts';
import type { FrameLog } from '../domain/events/frame-log.ts';
import type { HubAccess } from '../hub/access.ts';
import type { Logger } from '../logger.ts';

/** The dependencies that everything else is built from. */
export interface Foundation {
  readonly config: Config;
  readonly logger: Logger;
  readonly store: Store;
  readonly frames: FrameLog;
  readonly bin: Bin;
  readonly hub: HubAccess;
}

/** Where the demo's starter model may be. */
export const starterDirs = ({ cacheDir, dataDir }: Config): string[] => [cacheDir, dataDir];
