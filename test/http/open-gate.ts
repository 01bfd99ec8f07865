import type { Gate } from '../../src/http/access/gate.ts';

/** A gate that lets everyone in, for tests of what lies behind it. */
export const openGate: Gate = {
  cookieName: 'hone_session',
  needsKey: () => false,
  admit: () => ({ id: 'test', name: 'test', scope: 'full', recording: false }),
  limit: () => null,
  knows: () => true,
  checkPath: () => undefined,
  conceal: (error) => error,
};
