import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { endGroup } from './process-group.ts';

it('ends a process that was stopped, as a scenario leaves its daemon when it is interrupted', async () => {
  const script = 'sleep 600 & kill -STOP $!; echo stopped; wait';
  const runner = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(runner.stdout, 'data');
  endGroup(runner, 'SIGTERM');
  // Comes when the last process that has the output is gone.
  await once(runner, 'close');
  expect(runner.signalCode).toBe('SIGTERM');
});
