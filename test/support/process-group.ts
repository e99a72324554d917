/** The processes of a test run: what they started in their group ends with them. */
import type { ChildProcess } from 'node:child_process';

/** For a child that leads a group of its own. A member that SIGSTOP stopped takes the signal only once it goes on. */
export function endGroup({ pid }: Pick<ChildProcess, 'pid'>, signal: 'SIGINT' | 'SIGTERM'): void {
  if (pid === undefined) return;
  for (const each of [signal, 'SIGCONT'] as const) process.kill(-pid, each);
}
