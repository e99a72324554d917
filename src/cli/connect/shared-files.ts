/** A text in a file that outlives the process. It is replaced whole: a reader never meets half of it. */
import { mkdir, readFile, rename, writeFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SkuShare } from '../../azure/inventory/sku-agent.ts';
import type { SkuScope } from '../../azure/sizes/sku-catalog.ts';
import type { KeptText } from '../../domain/ports/stored-text.ts';
import { AutoscalerError } from '../../lib/errors.ts';

/** Whoever writes last wins: what is kept can be had anew. */
export function keptFile(path: string): KeptText {
  return {
    read: async (signal) => {
      try {
        return await readFile(path, { encoding: 'utf8', signal });
      } catch (thrown) {
        if (codeOf(thrown) === 'ENOENT') return undefined;
        throw failed('read', path, thrown);
      }
    },
    write: async (text, signal) => {
      const half = `${path}.${process.pid}.tmp`;
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(half, text, { signal, mode: 0o644 });
        await rename(half, path);
      } catch (thrown) {
        throw failed('written', path, thrown);
      }
    },
  };
}

function failed(what: string, path: string, cause: unknown): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `"${path}" could not be ${what} (${codeOf(cause)}).`, { cause });
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
}

// VM sizes kept in a folder that processes share. A text is written whole under the number of its epoch and never written
// over; the highest number is the one that counts, so that a process that comes late can spoil nothing.

export interface SkuFolderOptions {
  readonly folder: string;
  readonly scope: SkuScope;
  /** Unique per process: names what is being written. */
  readonly identity: string;
}

export function skuFolder({ folder, scope, identity }: SkuFolderOptions): SkuShare {
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

  /** What an older epoch left; another process may clear the same files away. */
  const clear = async (below: number): Promise<void> => {
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
          return { epoch, text: await readFile(nameOf(epoch, 'json'), 'utf8') };
        } catch (error) {
          // Cleared away by who published a newer one: the next look finds that.
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
      await clear(epoch);
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
