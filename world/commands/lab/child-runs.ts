/** Each run in a process of its own: cores work side by side, and memory is returned after each run. */
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoscalerError, configError } from '../../../src/lib/errors.ts';
import type { RunResult } from '../../lab/judge/run-figures.ts';
import type { RunOrder } from './run-orders.ts';

export type WorkerAnswer =
  | { readonly kind: 'done'; readonly result: RunResult }
  | { readonly kind: 'failed'; readonly message: string; readonly isConfig: boolean };

/** Before its answer, a process says now and then which share of its run is over, from 0 to 1. */
export interface WorkerProgress {
  readonly kind: 'progress';
  readonly share: number;
}

/** In the package, everything is in one folder. */
const BUNDLED = join(import.meta.dirname, 'main.mjs');
const SOURCE = join(import.meta.dirname, '..', '..', '..', 'src', 'cli', 'main.ts');

/** @throws AutoscalerError of the run; `cancelled` when the signal fires first, which ends the process. */
export function startChildRun(order: RunOrder, signal: AbortSignal, onProgress?: (share: number) => void): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    // Its temporary files end with it, however it ends.
    const dir = mkdtempSync(join(tmpdir(), 'lab-run-'));
    const isBundled = existsSync(BUNDLED);
    const child = fork(isBundled ? BUNDLED : SOURCE, ['lab', 'worker'], {
      env: { ...process.env, TMPDIR: dir },
      // Only TypeScript warns, and the oldest Node.js that the package runs on does not know the flag.
      execArgv: isBundled ? [] : ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const stop = (): void => {
      child.kill('SIGTERM');
    };
    let answer: WorkerAnswer | undefined;
    child.on('message', (message: WorkerAnswer | WorkerProgress) => {
      if (message.kind === 'progress') onProgress?.(message.share);
      else answer = message;
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      signal.removeEventListener('abort', stop);
      rmSync(dir, { recursive: true, force: true });
      if (answer?.kind === 'done') resolve(answer.result);
      else reject(failureOf(order, { answer, code, isStopped: signal.aborted }));
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    // A process that ended before it could read is reported by its exit.
    child.send(order, () => undefined);
  });
}

interface ChildEnd {
  readonly answer: WorkerAnswer | undefined;
  readonly code: number | null;
  readonly isStopped: boolean;
}

function failureOf({ contestant, seed }: RunOrder, { answer, code, isStopped }: ChildEnd): AutoscalerError {
  if (isStopped) return new AutoscalerError({ kind: 'cancelled' }, 'The run was stopped.');
  const run = `The run of ${contestant.name} with seed ${seed} failed`;
  if (answer?.kind !== 'failed')
    return new AutoscalerError({ kind: 'bug' }, `${run}: its process ended with exit code ${code ?? 'unknown'}.`);
  return answer.isConfig ? configError(answer.message) : new AutoscalerError({ kind: 'bug' }, `${run}: ${answer.message}`);
}
