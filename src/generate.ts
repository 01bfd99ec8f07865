/** `npm run generate`: writes what is generated from `src/contract/`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonTypes, pythonTypesPath } from './commands/python-types.ts';
import { generatedBlocks, withBlocks } from './generated-docs.ts';
import { repositoryRoot } from './native/repository-root.ts';
import { contractPath, contractText, settingsPath, settingsText } from './trainer/contract-file.ts';

writeFileSync(join(repositoryRoot(), contractPath), contractText());
writeFileSync(join(repositoryRoot(), settingsPath), settingsText());
writeFileSync(join(repositoryRoot(), pythonTypesPath), pythonTypes());
for (const [page, blocks] of Object.entries(generatedBlocks)) {
  const path = join(repositoryRoot(), page);
  writeFileSync(path, withBlocks(readFileSync(path, 'utf8'), blocks));
}
