/** Files that outlive the process: stored texts, and VM sizes in a folder that several processes share. */
import { mkdir, readFile, rename, writeFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SharedText } from '../../domain/ports/shared-text.ts';
import type { CatalogKey } from '../../azure/sizes/sku-text.ts';
import type { StoredText } from '../../domain/ports/stored-text.ts';
import { AutoscalerError } from '../../lib/errors.ts';

/** A text in a file. A write replaces the file as a whole, so a reader never sees half of it. The last writer wins. */
export function keptFile(path: string): StoredText {
  return {
    read: async (signal) => {
      try {
        return await readFile(path, { encoding: 'utf8', signal });
      } catch (thrown) {
        if (codeOf(thrown) === 'ENOENT') return undefined;
        throw fileError('read', path, thrown);
      }
    },
    write: async (text, signal) => {
      const draft = `${path}.${process.pid}.tmp`;
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(draft, text, { signal, mode: 0o644 });
        await rename(draft, path);
      } catch (thrown) {
        throw fileError('written', path, thrown);
      }
    },
  };
}

function fileError(what: string, path: string, cause: unknown): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `"${path}" could not be ${what} (${codeOf(cause)}).`, { cause });
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
}

interface SkuFolderOptions {
  readonly folder: string;
  readonly scope: CatalogKey;
  /** Unique per process; part of the name of a draft. */
  readonly identity: string;
}

/**
 * VM sizes in a folder that processes share. Each text is a file of its own, named by its epoch and never overwritten.
 * The highest epoch counts, so a process that comes late cannot replace newer sizes.
 */
export function skuFolder({ folder, scope, identity }: SkuFolderOptions): SharedText {
  const stem = `skus-${plain(scope.subscriptionId)}-${plain(scope.location)}`;
  const nameOf = (epoch: number, ending: Ending): string => join(folder, `${stem}.${epoch}.${ending}`);

  /** Highest first. */
  const epochs = async (ending: Ending): Promise<readonly number[]> => {
    const names = await readdir(folder).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    const found = names.map((name) => (name.startsWith(`${stem}.`) ? /^(\d+)\.(json|claim)$/.exec(name.slice(stem.length + 1)) : null));
    return found.flatMap((match) => (match?.[2] === ending ? [Number(match[1])] : [])).sort((left, right) => right - left);
  };

  /** Deletes the files of older epochs. Another process may delete the same files at the same time. */
  const deleteBelow = async (below: number): Promise<void> => {
    for (const ending of ['json', 'claim'] as const) {
      for (const epoch of await epochs(ending)) {
        if (epoch < below) await rm(nameOf(epoch, ending), { force: true });
      }
    }
  };

  return {
    latest: async () => {
      for (const epoch of await epochs('json')) {
        try {
          return { epoch, text: await readFile(nameOf(epoch, 'json'), 'utf8'), by: undefined };
        } catch (error) {
          // Deleted by a process that published a newer epoch. The next read finds that one.
          if (!hasCode(error, 'ENOENT')) throw error;
        }
      }
      return undefined;
    },
    claim: async (epoch) => {
      await mkdir(folder, { recursive: true });
      try {
        await writeFile(nameOf(epoch, 'claim'), identity, { flag: 'wx', mode: 0o644 });
        return true;
      } catch (error) {
        if (hasCode(error, 'EEXIST')) return false;
        throw error;
      }
    },
    release: (epoch) => rm(nameOf(epoch, 'claim'), { force: true }),
    publish: async (epoch, text) => {
      const [highest = 0] = await epochs('json');
      if (highest >= epoch) return false;
      const draft = join(folder, `.${stem}.${epoch}.${plain(identity)}`);
      await writeFile(draft, text, { mode: 0o644 });
      await rename(draft, nameOf(epoch, 'json'));
      await deleteBelow(epoch);
      return true;
    },
  };
}

type Ending = 'json' | 'claim';

function plain(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9-]/g, '');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
