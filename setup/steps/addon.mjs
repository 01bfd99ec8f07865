import { nodeEnvironment } from '../node-environment.mjs';
import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';

/** The native addon. It uses Node-API, so any supported Node can load it. */
export const addon = {
  name: 'addon',
  title: 'Native addon',
  without: 'no live metrics, no GPU detection, no GGUF files smaller than Q8_0, slower training on a CPU',
  optional: true,
  makes: ['build/native/Release/hone.node'],
  needs: ['compiler', 'cmake', 'make'],
  from: () =>
    digest(
      ['CMakeLists.txt', 'native', 'node_modules/node-llama-cpp/llama/llama.cpp.info.json'],
      [process.platform, process.arch],
    ),
  async run(progress) {
    const args = [
      inRoot('node_modules', 'cmake-js', 'bin', 'cmake-js'),
      'compile',
      '--out',
      inRoot('build', 'native'),
    ];
    await runTool(process.execPath, args, {
      cwd: inRoot(),
      env: nodeEnvironment(),
      onLine(line) {
        const percent = /^\[ *(\d+)%\]/.exec(line)?.[1];
        const file = /^\[(\d+)\/(\d+)\]/.exec(line);
        if (percent) progress.update(`compiled ${percent} %`);
        else if (file) progress.update(`compiled ${file[1]} of ${file[2]}`);
      },
    });
  },
};
