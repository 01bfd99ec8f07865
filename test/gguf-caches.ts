import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Lays a file out as LM Studio does, below the home folder `home`. @returns its path. */
export function layOutLmStudio(home: string, gguf: string, repository = 'owner/Model-GGUF'): string {
  const path = join(home, '.lmstudio', 'models', ...repository.split('/'), basename(gguf));
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(gguf, path);
  return path;
}

/** Lays a file out as Ollama does, below the home folder `home`: a manifest, and blobs named by their SHA-256. */
export function layOutOllama(home: string, gguf: string, model = 'smollm2', tag = '135m'): string {
  const root = join(home, '.ollama', 'models');
  const blobs = join(root, 'blobs');
  mkdirSync(blobs, { recursive: true });
  const store = (content: Buffer, mediaType: string) => {
    const digest = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(blobs, `sha256-${digest}`), content);
    return { mediaType, digest: `sha256:${digest}`, size: content.length };
  };
  const config = store(
    Buffer.from(JSON.stringify({ model_format: 'gguf', model_family: 'llama' })),
    'application/vnd.docker.container.image.v1+json',
  );
  const layers = [
    store(readFileSync(gguf), 'application/vnd.ollama.image.model'),
    store(Buffer.from('{"temperature":0.2}'), 'application/vnd.ollama.image.params'),
  ];
  const manifest = join(root, 'manifests', 'registry.ollama.ai', 'library', model, tag);
  mkdirSync(dirname(manifest), { recursive: true });
  const mediaType = 'application/vnd.docker.distribution.manifest.v2+json';
  writeFileSync(manifest, JSON.stringify({ schemaVersion: 2, mediaType, config, layers }));
  return join(blobs, (layers[0]?.digest ?? '').replace(':', '-'));
}
