import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { AppError } from '../../errors.ts';

/** A certificate with its private key, in PEM format. */
export interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** SHA-256 of the certificate, as `X509Certificate.fingerprint256`. */
  readonly fingerprint: string;
}

/** @throws AppError `invalid` for files that cannot be read, are no certificate or key, or do not belong together. */
export function readTls({ certPath, keyPath }: { certPath: string; keyPath: string }): Tls {
  const cert = read('--tls-cert', certPath);
  const key = read('--tls-key', keyPath);
  const { fingerprint256: fingerprint } = tryTo(
    () => new X509Certificate(cert),
    `--tls-cert ${certPath} is not a certificate in PEM format`,
  );
  tryTo(
    () => createSecureContext({ cert, key }),
    `--tls-key ${keyPath} is not the unencrypted private key, in PEM format, of the certificate ${certPath}`,
  );
  return { cert, key, fingerprint };
}

const read = (flag: string, path: string) => tryTo(() => readFileSync(path), `${flag} cannot be read`);

function tryTo<T>(work: () => T, problem: string): T {
  try {
    return work();
  } catch (error) {
    throw new AppError('invalid', `${problem}: ${(error as Error).message}.`, { cause: error });
  }
}
