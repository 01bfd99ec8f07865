/** `npm run generate`: writes the files generated from `src/contract/`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './native/repository-root.ts';
import { contractPath, contractText } from './trainer/contract-file.ts';

writeFileSync(join(repositoryRoot(), contractPath), contractText());
