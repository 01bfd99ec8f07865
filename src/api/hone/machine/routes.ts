import type { Services } from '../../../domain/services.ts';
import { route } from '../../../http/route.ts';
import { tag } from '../common.ts';
import { presentHardware } from './presenters.ts';
import * as s from './schemas.ts';

/** Detailed hardware facts. */
export function hardwareRoutes({ machine }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/hardware',
      tag,
      access: 'train',
      summary: 'Hardware details: visible GPUs in training order, memory, disk and CPU cores; sizes in bytes',
      responses: { 200: { description: 'The hardware; null means unknown', schema: s.hardware } },
      handle: async () => presentHardware(await machine()),
    }),
  ];
}
