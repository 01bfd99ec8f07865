import { service } from '../../../api/service.ts';
import type { DocumentRecord, Making } from '../../../api/types.ts';
import { Remote } from '../../../state/remote.ts';

/** The documents, and the datasets that are or were made. */
export const documents = new Remote<readonly DocumentRecord[]>(service.documents);
export const makings = new Remote<readonly Making[]>(service.rowMakings);

export const isUnderway = ({ state }: Pick<Making, 'state'>): boolean =>
  state === 'queued' || state === 'running';
