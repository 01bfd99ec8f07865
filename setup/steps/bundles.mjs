import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { ToolError } from '../tool.mjs';

/** Programs in `dist/` by their source. */
const PROGRAMS = {
  main: 'src/main.ts',
  'inference-worker': 'src/inference/worker/worker.ts',
  'try-uws': 'src/http/engines/try-uws.ts',
  score: 'src/inference/score.ts',
  'compare-renderings': 'src/inference/template/compare-renderings.ts',
  quantize: 'src/programs/quantize.ts',
  backup: 'src/programs/backup.ts',
  demo: 'src/demo/main.ts',
};
const PAGE = 'ui/main.ts';
/** Packages that the page loads when it first needs them, each as a file of its own. */
const LATER = ['markdown-it'];
/** Files of the page that are served as they are. */
const STATIC = /\.(html|svg|png|ico|webmanifest|txt|woff2)$/;

const COMPRESSED = /\.(html|svg|css|js)$/;

/** Leaves out how the page's templates are indented, which would be a fortieth of it on the wire. */
const withoutIndentation = {
  name: 'without-indentation',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]ui[\\/].+\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/\n[ \t]+/g, '\n'),
      loader: 'ts',
    }));
  },
};

/**
 * Leaves the packages of LATER out of the page's bundle. With esbuild's `splitting` they would share a file of helpers with the
 * page, which would have to wait for it.
 */
const loadedLater = {
  name: 'loaded-later',
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^(${LATER.join('|')})$`) }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path: `./${path}.js`, external: true } : undefined,
    );
  },
};

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
        entryPoints: [{ in: PAGE, out: 'main' }, ...LATER.map((name) => ({ in: name, out: name }))],
        outdir: 'dist/ui',
        platform: 'browser',
        target: 'es2022',
        minify: true,
        loader: { '.svg': 'text', '.woff2': 'file' },
        plugins: [withoutIndentation, loadedLater],
      });
    }
    // Otherwise its process would keep running.
    await esbuild.stop();
    copyStatic();
    compressPage();
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

/** Makes a copy of each file of the page with the extension that `src/http/assets.ts` looks for. */
function compressPage() {
  const folder = inRoot('dist', 'ui');
  if (!existsSync(folder)) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  for (const name of readdirSync(folder).filter((one) => COMPRESSED.test(one))) {
    const bytes = readFileSync(inRoot('dist', 'ui', name));
    writeFileSync(inRoot('dist', 'ui', `${name}.br`), brotliCompressSync(bytes, { params }));
  }
}
