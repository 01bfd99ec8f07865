import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';

const BUNDLE = 'node_modules/node-llama-cpp/llama/gitRelease.bundle';
const PARTS = [
  'conversion',
  'convert_hf_to_gguf.py',
  'convert_lora_to_gguf.py',
  'gguf-py/gguf',
  'include',
  'ggml/include',
];

/** llama.cpp's converter and headers, from the source of the engine's own release. */
export const converter = {
  name: 'converter',
  title: "llama.cpp's converter",
  makes: ['build/llama.cpp/convert_hf_to_gguf.py', 'build/llama.cpp/include/llama.h'],
  needs: ['git'],
  from: () => digest(['node_modules/node-llama-cpp/llama/llama.cpp.info.json'], PARTS),
  async run() {
    mkdirSync(inRoot('build'), { recursive: true });
    const aside = mkdtempSync(inRoot('build', 'llama.cpp-'));
    // A git hook or an outer git command would point these at another repository.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
    try {
      const store = join(aside, 'store');
      const tree = join(aside, 'tree');
      mkdirSync(tree);
      await runTool('git', ['clone', '--quiet', '--bare', inRoot(BUNDLE), store], { env });
      const checkout = [
        '-c',
        'core.autocrlf=false',
        `--git-dir=${store}`,
        `--work-tree=${tree}`,
        'checkout',
        '--quiet',
      ];
      await runTool('git', [...checkout, 'HEAD', '--', ...PARTS], { env });
      rmSync(inRoot('build', 'llama.cpp'), { recursive: true, force: true });
      moveFolder(tree, inRoot('build', 'llama.cpp'));
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  },
};

/** Renames a folder, or copies it if a file is in use (for example by a virus scanner on Windows). */
function moveFolder(from, to) {
  try {
    renameSync(from, to);
  } catch {
    cpSync(from, to, { recursive: true });
  }
}
