import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { presentHardware } from './presenters.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

/** What the machine is, fact by fact. */
export function hardwareRoutes({ machine }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/hardware',
      tag,
      summary: 'This machine: each GPU that training sees in its order, memory, disk and cores, in bytes',
      responses: { 200: { description: 'The facts; null is unknown', schema: s.hardware } },
      handle: async () => presentHardware(await machine()),
    }),
  ];
}
