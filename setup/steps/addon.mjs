import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';

/** The native addon: GPU facts and samples, quantization. It uses Node-API: any supported Node loads it. */
export const addon = {
  name: 'addon',
  title: 'Native addon',
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
      onLine(line) {
        const percent = /^\[ *(\d+)%\]/.exec(line)?.[1];
        const file = /^\[(\d+)\/(\d+)\]/.exec(line);
        if (percent) progress.update(`compiled ${percent} %`);
        else if (file) progress.update(`compiled ${file[1]} of ${file[2]}`);
      },
    });
  },
};
