/** A text in a file that outlives the process. It is replaced whole: a reader never meets half of it. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AutoscalerError } from '../domain/errors.ts';
import type { KeptText } from '../ports/kept-text.ts';

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
