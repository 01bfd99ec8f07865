import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { ToolError } from '../tool.mjs';

/** Programs in `dist/` by their source. */
const PROGRAMS = {
  main: 'src/main.ts',
  'inference-worker': 'src/inference/worker.ts',
  'try-uws': 'src/http/engines/try-uws.ts',
  score: 'src/inference/score.ts',
  quantize: 'src/quantize-program.ts',
  backup: 'src/backup-program.ts',
  demo: 'src/demo/main.ts',
};
const PAGE = 'ui/main.ts';
/** Files of the page that are served as they are. */
const STATIC = /\.(html|svg|png|ico|webmanifest|txt|woff2)$/;

/** The service, its children and the page. */
export const bundles = {
  name: 'bundles',
  title: 'Service and page',
  makes: ['dist/main.js'],
  needs: [],
  from: () => digest(['src', 'ui', 'tsconfig.json', 'package-lock.json', 'setup/steps/bundles.mjs']),
  async run() {
    const esbuild = await import(pathToFileURL(inRoot('node_modules', 'esbuild', 'lib', 'main.js')).href);
    const entries = Object.entries(PROGRAMS).filter(([, source]) => existsSync(inRoot(source)));
    rmSync(inRoot('dist'), { recursive: true, force: true });
    const common = {
      bundle: true,
      format: 'esm',
      sourcemap: true,
      logLevel: 'silent',
      absWorkingDir: inRoot(),
    };
    await build(esbuild, {
      ...common,
      entryPoints: entries.map(([out, source]) => ({ in: source, out })),
      outdir: 'dist',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      loader: { '.sql': 'text' },
    });
    if (existsSync(inRoot(PAGE))) {
      await build(esbuild, {
        ...common,
        entryPoints: [{ in: PAGE, out: 'main' }],
        outdir: 'dist/ui',
        platform: 'browser',
        target: 'es2022',
        minify: true,
        loader: { '.svg': 'text', '.woff2': 'file' },
      });
    }
    // Otherwise its process would keep running.
    await esbuild.stop();
    copyStatic();
  },
};

async function build(esbuild, options) {
  try {
    await esbuild.build(options);
  } catch (error) {
    const messages = await esbuild.formatMessages(error.errors ?? [], { kind: 'error' });
    throw new ToolError(`esbuild: ${error.message.split('\n')[0]}`, messages.join('').split('\n'));
  }
}

function copyStatic() {
  if (!existsSync(inRoot('ui'))) return;
  mkdirSync(inRoot('dist', 'ui'), { recursive: true });
  for (const name of readdirSync(inRoot('ui'))) {
    // Style sheets imported by main.ts are already in the bundle.
    const own = name.endsWith('.css') && !existsSync(inRoot('dist', 'ui', name));
    if (STATIC.test(name) || own) cpSync(inRoot('ui', name), inRoot('dist', 'ui', name));
  }
}
