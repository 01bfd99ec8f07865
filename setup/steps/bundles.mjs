import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
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
  cli: 'src/cli/main.ts',
  // Run once: `cli` reads the schemas from a file, which is quicker.
  requests: 'src/commands/request-schemas.ts',
};
const PAGE = 'ui/main.ts';
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
    const program = inRoot('dist', 'requests.js');
    if (existsSync(program)) {
      const { requests } = await import(pathToFileURL(program).href);
      writeFileSync(inRoot('dist', 'requests.json'), JSON.stringify(requests));
    }
    let page;
    if (existsSync(inRoot(PAGE))) {
      page = await build(esbuild, {
        ...common,
        entryPoints: [{ in: PAGE, out: 'main' }],
        // What is imported by import() is a file of its own, read when it is first needed.
        splitting: true,
        metafile: true,
        outdir: 'dist/ui',
        platform: 'browser',
        target: 'es2022',
        minify: true,
        loader: { '.svg': 'text', '.woff2': 'file' },
        plugins: [withoutIndentation],
      });
    }
    // Otherwise its process would keep running.
    await esbuild.stop();
    copyStatic();
    if (page !== undefined) preload(page);
    compressPage();
  },
};

async function build(esbuild, options) {
  try {
    return await esbuild.build(options);
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

/** Lets the browser read what `main.js` imports together with it, and not after it. */
function preload({ metafile }) {
  const index = inRoot('dist', 'ui', 'index.html');
  const links = metafile.outputs['dist/ui/main.js'].imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="/${basename(path)}" />\n    `);
  const html = readFileSync(index, 'utf8');
  writeFileSync(index, html.replace('<script', `${links.join('')}<script`));
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
