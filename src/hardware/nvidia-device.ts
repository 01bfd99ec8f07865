import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Whether the machine has an NVIDIA display or compute device, asked of the bus and not of the driver, so
 * that a GPU without a working driver is told from no GPU. A Jetson's is on no bus, but has a device file. `null`
 * where this cannot be asked.
 */
export async function hasNvidiaDevice(root = '/'): Promise<boolean | null> {
  if (process.platform !== 'linux') return null;
  if (await isThere(root, 'dev/nvidiactl', 'dev/nvidia0', 'dev/nvhost-gpu', 'dev/nvgpu')) return true;
  // Under WSL the host's GPUs are on no bus of ours.
  if (await isThere(root, 'dev/dxg')) return null;
  const bus = join(root, 'sys/bus/pci/devices');
  const devices = await readdir(bus).catch(() => null);
  if (devices === null) return null;
  for (const device of devices) {
    const vendor = await readFile(join(bus, device, 'vendor'), 'utf8').catch(() => '');
    const kind = await readFile(join(bus, device, 'class'), 'utf8').catch(() => '');
    // PCI vendor 0x10de is NVIDIA, class 0x03 a display controller (compute cards are 0x0302).
    if (vendor.trim() === '0x10de' && kind.trim().startsWith('0x03')) return true;
  }
  return false;
}

async function isThere(root: string, ...paths: readonly string[]): Promise<boolean> {
  const found = await Promise.all(
    paths.map((path) =>
      access(join(root, path)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}
