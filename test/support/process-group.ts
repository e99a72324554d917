/** Processes that a test or a test run has started. */
import type { ChildProcess } from 'node:child_process';

/** For a child that leads a group of its own. A member that SIGSTOP stopped takes the signal only once it goes on. */
export function endGroup({ pid }: Pick<ChildProcess, 'pid'>, signal: 'SIGINT' | 'SIGTERM'): void {
  if (pid === undefined) return;
  for (const each of [signal, 'SIGCONT'] as const) process.kill(-pid, each);
}

/** Whether the process exists: it runs, or its parent has not taken note of its end. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
