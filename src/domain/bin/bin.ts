import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Store } from '../../db/store.ts';
import type { BinRow, RawRow, RowsOf } from '../../db/tables/bin.ts';
import { AppError, asAppError } from '../../errors.ts';
import type { Emit, FrameLog } from '../events/frame-log.ts';
import { type GivingWay, givingWay, isShort, megabytes, roomOf } from '../machine/disk-room.ts';
import { bytesOf } from './bytes-of.ts';

/** What the bin keeps. */
export const binKinds = ['run', 'model', 'dataset', 'evaluation', 'sweep', 'chat'] as const;
export type BinKind = (typeof binKinds)[number];

/** Something that was deleted, and can be restored. */
export type BinEntry = Omit<BinRow, 'kind' | 'kept' | 'paths'> & {
  readonly kind: BinKind;
  /** When it is deleted for good. */
  readonly expiresAt: string;
};

/** Whether something that is about to be deleted will be kept, and the bytes of its files. */
export interface Place {
  readonly kept: boolean;
  readonly bytes: number;
  /** Of its files and folders. */
  readonly paths: readonly string[];
}

/** Something to be deleted. */
export interface Deletion extends Pick<BinEntry, 'kind' | 'ref' | 'name'> {
  /** Its rows, each before those that refer to it. */
  readonly rows: readonly RowsOf[];
  /** Removes the rows in the transaction that keeps them. What it throws keeps everything as it is. */
  remove(emit: Emit): void;
}

/** How a kind is restored. */
export interface Restoring {
  /** @throws AppError `conflict` if something has its name again. */
  check?(entry: BinEntry): void;
  /** A row as it is inserted. */
  row?(table: string, row: RawRow): RawRow;
  /** Its rows are back, in the same transaction. */
  restored(entry: BinEntry, emit: Emit): void;
}

/** Where deleted things are kept for some days: their rows in the database, their files in a folder of the bin. */
export interface Bin {
  /**
   * Makes room for something that is about to be deleted. It is not kept if it is too large, or the disk is short.
   * @throws AppError `disk_full` for what is not kept if `permanently` is `false`, which is more than left out.
   */
  place(paths: readonly string[], permanently?: boolean): Promise<Place>;
  /** Deletes something; all but its files before this function returns. @returns its ID in the bin if it is kept. */
  discard(place: Place, deletion: Deletion): Promise<string | null>;
  /** How a kind is restored, told once. */
  restores(kind: BinKind, restoring: Restoring): void;
  /** The latest first. */
  list(): BinEntry[];
  bytes(): number;
  /** The most bytes of something that would be kept now. */
  limitBytes(): Promise<number>;
  /** @throws AppError `not_found`, or `conflict` if something has its name again. */
  restore(id: string): BinEntry;
  /** Deletes something for good. @throws AppError `not_found`. */
  purge(id: string): Promise<BinEntry>;
  /** Deletes everything in it for good. @returns how much. */
  empty(): Promise<number>;
  /** Deletes for good what has been kept for long enough. */
  tidy(): Promise<void>;
  /** The folders in it, such as those of models. */
  folders(): string[];
  close(): void;
}

export interface BinOptions {
  readonly store: Pick<Store, 'bin'>;
  readonly frames: FrameLog;
  readonly dataDir: string;
  /** Whether the database is a backup, and folders tell what was not deleted. */
  readonly isBackup: boolean;
  readonly keptMs: number;
  /** The most bytes; `null` for a part of the disk. */
  readonly maxBytes: number | null;
  /** Called when something was deleted for good. */
  readonly onPurged: () => Promise<void>;
  readonly now?: () => number;
}

/** It gives way where the disk is short, so it may have much of it. */
const diskPart = 0.25;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of short methods over the same table and folder
export function createBin(options: BinOptions): Bin {
  const { store, frames, dataDir, keptMs, now = Date.now } = options;
  const dir = join(dataDir, 'bin');
  const restorings = new Map<BinKind, Restoring>();
  const folderOf = (id: string) => join(dir, id);
  const placeOf = ({ id }: Pick<BinRow, 'id'>, number: number) => join(folderOf(id), String(number));

  const toEntry = ({ kept: _, paths: __, ...row }: BinRow): BinEntry => ({
    ...row,
    kind: row.kind as BinKind,
    expiresAt: new Date(Date.parse(row.deletedAt) + keptMs).toISOString(),
  });
  const isOver = ({ kept, deletedAt }: BinRow) => !kept || Date.parse(deletedAt) + keptMs <= now();
  const current = () => store.bin.list().filter((row) => !isOver(row));
  const bytes = () => current().reduce((sum, row) => sum + row.bytes, 0);

  function get(id: string): BinRow {
    const row = current().find((one) => one.id === id);
    if (row === undefined) throw new AppError('not_found', `There is no ${id.slice(0, 100)} in the bin.`);
    return row;
  }

  /** Moves files between their places and the bin, all or none. Synchronous: nothing can come between. */
  function move(row: BinRow, into: boolean): void {
    const done: (readonly [string, string])[] = [];
    if (row.paths.length > 0) mkdirSync(folderOf(row.id), { recursive: true });
    try {
      for (const [number, path] of row.paths.entries()) {
        const places = [join(dataDir, path), placeOf(row, number)] as const;
        const [from, to] = into ? places : [places[1], places[0]];
        if (!existsSync(from)) continue;
        if (existsSync(to)) throw new AppError('conflict', `There is something at ${path} already.`);
        renameSync(from, to);
        done.push([from, to]);
      }
    } catch (error) {
      for (const [from, to] of done) renameSync(to, from);
      throw error;
    }
  }

  async function erase({ id }: Pick<BinRow, 'id'>): Promise<void> {
    store.bin.giveUp(id);
    await rm(folderOf(id), { recursive: true, force: true });
    store.bin.remove(id);
    await options.onPurged();
  }

  function restore(id: string): BinEntry {
    const row = get(id);
    const entry = toEntry(row);
    const { check, row: change, restored } = restorings.get(entry.kind) as Restoring;
    check?.(entry);
    move(row, false);
    try {
      frames.commit((emit) => {
        store.bin.restoreRows(id, (table, one) => change?.(table, one) ?? one);
        store.bin.remove(id);
        restored(entry, emit);
      });
    } catch (error) {
      move(row, true);
      throw error;
    }
    rmSync(folderOf(id), { recursive: true, force: true });
    return entry;
  }

  /** Deletes the oldest ones while `tooMuch`. @returns whether it no longer is. */
  async function giveWay(tooMuch: () => Promise<boolean>): Promise<boolean> {
    while (await tooMuch()) {
      const [oldest] = current();
      if (oldest === undefined) return false;
      await erase(oldest);
    }
    return true;
  }

  const maxBytes = async () =>
    options.maxBytes ?? ((await roomOf(dataDir))?.bytes ?? Number.MAX_SAFE_INTEGER) * diskPart;

  const yields: GivingWay = {
    bytes: (folder) => (existsSync(folder) && statSync(folder).dev === statSync(dataDir).dev ? bytes() : 0),
    async giveWay(lacking) {
      const wanted = ((await roomOf(dataDir))?.freeBytes ?? 0) + lacking;
      await giveWay(async () => ((await roomOf(dataDir))?.freeBytes ?? wanted) < wanted);
    },
  };
  givingWay.add(yields);

  /** What a killed service left: the files of what is in the bin belong there, and those of what is not kept are deleted. */
  function recover(): void {
    for (const row of store.bin.list()) {
      const places = row.paths.map((path, number) => [join(dataDir, path), placeOf(row, number)] as const);
      // Where a file is in the bin already, the other one is a new one of its name.
      const left = places.filter(([from, to]) => existsSync(from) && !existsSync(to));
      if (left.length === 0) continue;
      if (!row.kept) for (const [from] of left) rmSync(from, { recursive: true, force: true });
      // It was restored after the backup was made.
      else if (options.isBackup) store.bin.remove(row.id);
      else {
        mkdirSync(folderOf(row.id), { recursive: true });
        for (const [from, to] of left) renameSync(from, to);
      }
    }
  }
  recover();

  return {
    async place(asked, permanently) {
      const paths = asked.filter((path) => existsSync(path));
      const size = await bytesOf(paths);
      const { dev } = statSync(dataDir);
      const limit = await maxBytes();
      const whyNot =
        size > limit
          ? `it has ${megabytes(size)}, and the bin has room for ${megabytes(limit)}`
          : // Files are moved, which a folder on another disk does not allow.
            paths.some((path) => statSync(path, { throwIfNoEntry: false })?.dev !== dev)
            ? 'its files are on another disk'
            : !permanently && !(await giveWay(async () => bytes() + size > limit || (await isShort(dataDir))))
              ? 'the disk is nearly full'
              : null;
      if (whyNot !== null && permanently === false)
        throw new AppError(
          'disk_full',
          `The bin cannot keep it: ${whyNot}. It can only be deleted for good.`,
        );
      return { kept: !permanently && whyNot === null, bytes: size, paths };
    },

    async discard({ kept, bytes: size, paths }, { kind, ref, name, rows, remove }) {
      const row: BinRow = {
        id: randomUUID(),
        kind,
        ref,
        name,
        bytes: size,
        kept,
        deletedAt: new Date(now()).toISOString(),
        paths: paths.map((path) => relative(dataDir, path)),
      };
      const removeFiles = async () => {
        for (const path of paths) await rm(path, { recursive: true, force: true });
      };
      try {
        frames.commit((emit) => {
          store.bin.put(row, kept ? rows : []);
          remove(emit);
        });
      } catch (error) {
        if (kept || asAppError(error).kind !== 'disk_full') throw error;
        // Its files make room for the transaction.
        await removeFiles();
        frames.commit(remove);
        return null;
      }
      if (kept) {
        try {
          move(row, true);
        } catch (error) {
          restore(row.id);
          throw asAppError(error);
        }
        return row.id;
      }
      try {
        await removeFiles();
      } finally {
        store.bin.remove(row.id);
      }
      return null;
    },

    restores: (kind, restoring) => void restorings.set(kind, restoring),

    list: () => current().reverse().map(toEntry),
    bytes,

    limitBytes: async () => ((await isShort(dataDir)) && bytes() === 0 ? 0 : Math.floor(await maxBytes())),

    restore,

    async purge(id) {
      const row = get(id);
      await erase(row);
      return toEntry(row);
    },

    async empty() {
      const rows = current();
      for (const row of rows) await erase(row);
      return rows.length;
    },

    async tidy() {
      const rows = store.bin.list();
      for (const row of rows) if (isOver(row)) await erase(row);
      const known = new Set(store.bin.list().map(({ id }) => id));
      for (const name of existsSync(dir) ? readdirSync(dir) : []) {
        // Left by a database that was lost.
        if (!known.has(name) && statSync(folderOf(name)).mtimeMs + keptMs <= now())
          await rm(folderOf(name), { recursive: true, force: true });
      }
    },

    folders: () => current().flatMap(({ id, paths }) => paths.map((_, number) => placeOf({ id }, number))),

    close: () => void givingWay.delete(yields),
  };
}
