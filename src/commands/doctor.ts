import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chooseHttpEngine } from '../compose/http-engine.ts';
import { migrationsDir } from '../compose/records.ts';
import type { Config } from '../config.ts';
import { listBackups } from '../db/backup.ts';
import { openStore } from '../db/store.ts';
import { createShare, describeShare } from '../domain/jobs/run/devices.ts';
import { readMachine } from '../domain/machine/machine.ts';
import { asAppError } from '../errors.ts';
import { readTls } from '../http/engines/tls.ts';
import { createHubToken, hubTokenPath } from '../hub/token.ts';
import { checkEngine } from '../inference/check.ts';
import { lookAtCluster } from '../trainer/cluster.ts';
import { describeTrainer } from '../trainer/describe.ts';
import { trainerEnvironment } from '../trainer/processes/supervisor.ts';
import { version } from '../version.ts';

const run = promisify(execFile);

/** A matrix product on the training device. It detects a broken or mismatched build. */
const matrixProduct = `
import torch
from trainer.kernels import native
device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
a = torch.arange(250_000, dtype=torch.float32, device=device).reshape(500, 500) / 250_000
error = (a @ a - (a.double().cpu() @ a.double().cpu()).to(a)).abs().max().item() if device != "mps" else (a @ a - (a.cpu() @ a.cpu()).to(a)).abs().max().item()
assert error < 1, error
print(f"PyTorch {torch.__version__}: 500 x 500 product on {device}, largest error {error:.1e}; on a CPU {native.describe()}")
`;

/** What a check of a part of the installation found. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Tests each part of the installation with real work; says each finding once it is there. */
export async function examine(
  config: Config,
  say: (finding: Finding) => void = () => undefined,
): Promise<Finding[]> {
  const env = trainerEnvironment(config, null);
  const checks: readonly [string, () => Promise<string>][] = [
    ['Node', async () => `${process.version} on ${process.platform} ${process.arch}`],
    [
      'HTTP',
      async () => {
        const { engine, reason } = await chooseHttpEngine(
          config,
          config.tls === null ? null : readTls(config.tls),
        );
        return `${engine.description}${reason === null ? '' : `: ${reason}`}`;
      },
    ],
    [
      'Machine',
      async () => {
        const { facts, vramGb, ramGb, diskFreeGb, profile } = await readMachine(config.dataDir);
        const gpu =
          vramGb > 0
            ? `${facts.gpuName}, ${vramGb} GB`
            : `${facts.gpuName}${facts.gpuReason ? ` (${facts.gpuReason})` : ''}`;
        if (facts.addonReason !== null) throw new Error(`the native addon is missing: ${facts.addonReason}`);
        return `${gpu}; ${ramGb} GB RAM, ${diskFreeGb} GB disk free, ${facts.cpuCoresLogical} cores; profile ${profile}`;
      },
    ],
    ['Queue', async () => describeShare(await createShare(() => readMachine(config.dataDir), config)())],
    [
      'Database',
      async () => {
        const dir = mkdtempSync(join(tmpdir(), 'hone-doctor-'));
        try {
          const store = openStore(join(dir, 'check.sqlite'), migrationsDir(config));
          store.session.set('check', { written: true });
          const read = store.session.get('check');
          store.close();
          if (JSON.stringify(read) !== '{"written":true}')
            throw new Error('the data read back differs from the data written');
          const [newest, ...older] = listBackups(config.databasePath);
          const backups =
            newest === undefined
              ? 'no backup yet'
              : `the newest of ${older.length + 1} backup(s) is of ${newest.takenAt.toISOString()}`;
          return `written, synced and read back; ${backups}`;
        } finally {
          rmSync(dir, { recursive: true, force: true });
        }
      },
    ],
    ['PyTorch', async () => (await run(config.pythonPath, ['-c', matrixProduct], { env })).stdout.trim()],
    [
      'Trainer',
      async () => {
        const { tasks, strategies, providers, engines } = await describeTrainer(config, config.converterDir);
        const list = (entries: readonly { name: string }[]) => entries.map(({ name }) => name).join(', ');
        const missing = [...providers, ...engines]
          .filter(({ available }) => !available)
          .map(({ name, reason }) => `; ${name} is not available: ${reason}`);
        return `tasks ${list(tasks)}; strategies ${list(strategies)}; providers ${list(providers)}; engines ${list(engines)}${missing.join('')}`;
      },
    ],
    ['Cluster', () => describeCluster(config)],
    ['llama.cpp', () => checkEngine(join(config.installDir, 'dist', 'score.js'))],
    [
      'Hub token',
      async () =>
        createHubToken(hubTokenPath(config.dataDir), config.hubToken).value === null
          ? 'none set (Settings, or HUB_TOKEN); needed for gated models and for pushing'
          : 'set',
    ],
  ];
  const findings: Finding[] = [];
  for (const [name, check] of checks) {
    const finding = await check().then(
      (detail) => ({ name, ok: true, detail }),
      (error) => {
        const said = (error as { stderr?: string }).stderr?.trim().split('\n').slice(-3).join('\n');
        return { name, ok: false, detail: said || asAppError(error).message };
      },
    );
    findings.push(finding);
    say(finding);
  }
  return findings;
}

/**
 * `hone doctor`: reports what is installed and whether it works, with `--json` as one object.
 * @returns the exit code: 0 when training and playground can run.
 */
export async function runDoctor(config: Config): Promise<number> {
  const findings = await examine(config, ({ name, ok, detail }) => {
    if (config.json) return;
    process.stdout.write(`${ok ? 'ok   ' : 'FAIL '} ${name}: ${detail.replaceAll('\n', '\n      ')}\n`);
  });
  const failed = findings.filter(({ ok }) => !ok).length;
  if (config.json) {
    process.stdout.write(`${JSON.stringify({ version, ok: failed === 0, checks: findings }, null, 2)}\n`);
  } else {
    process.stdout.write(
      failed === 0
        ? 'Everything works.\n'
        : `${failed} of ${findings.length} checks failed. "npm start" repairs what setup can repair.\n`,
    );
  }
  return failed === 0 ? 0 : 1;
}

/** The nodes of the cluster and what of them is free. */
async function describeCluster(config: Config): Promise<string> {
  const cluster = await lookAtCluster(config);
  if (cluster === null) return 'none set (--cluster); runs with several workers train on this machine';
  if (!cluster.available) throw new Error(cluster.reason ?? 'it cannot be used');
  const nodes = cluster.nodes.map(
    (node) =>
      `${node.address} with ${node.gpus} GPUs (${node.free_gpus} free) and ${node.cpus} cores (${node.free_cpus} free)`,
  );
  return `${cluster.address}: ${nodes.join('; ')}`;
}
