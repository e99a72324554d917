import { beforeEach, describe, expect, it } from 'vitest';
import { writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { rivalProgram } from '../../../commands/lab/rival-process.ts';
import { CLIENT } from '../../../lab/client-files.ts';
import { NO_CONTRACT } from '../../../lab/judge/price-list.ts';
import type { Scenario } from '../../../lab/loads/load.ts';
import { runInRealTime, type RunningProgram, type StartProgram } from '../../../lab/runs/real-time-run.ts';
import { worldOfScenario } from '../../../lab/runs/scenario-world.ts';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../../simulator/world.ts';
import { START_MS } from '../../../../test/support/builders.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';

const MINUTE = 60_000;
const SCENARIO: Scenario = {
  name: 'short',
  startMs: START_MS,
  durationMs: 10 * MINUTE,
  currency: 'USD',
  pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 5, pricePerHour: 10 }],
  workloads: [{ id: 'web', name: 'web', namespace: 'default', kind: 'Deployment', pod: { containers: [{ requests: { cpu: '1500m' } }] } }],
  events: [{ kind: 'replicas', atMs: MINUTE, workload: 'web', count: 4 }],
};

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

/** The clock of the computer and that of the world, both in the test's hands. */
function clocks() {
  const worldClock = new VirtualSimClock(START_MS);
  return { worldClock, clock: { sleep: (ms: number) => Promise.resolve(worldClock.advance(ms)) } };
}

/** Looks at the cluster after half a second; `act` is what it does then. */
function aProgram(
  act: (world: World) => void = () => undefined,
  over: Partial<RunningProgram> = {},
): { start: StartProgram; stopped: () => boolean } {
  let stopped = false;
  const start: StartProgram = (world) => {
    let looked = false;
    world.clock.after(500, () => {
      looked = true;
      act(world);
    });
    const stop = () => {
      stopped = true;
      return Promise.resolve();
    };
    return Promise.resolve({ hasStarted: () => looked, ended: () => undefined, stop, ...over });
  };
  return { start, stopped: () => stopped };
}

function play(start: StartProgram) {
  return runInRealTime({ scenario: SCENARIO, seed: 1, contract: NO_CONTRACT, name: 'ca', speed: 1, dir, start, ...clocks() });
}

describe('a run in real time', () => {
  it('plays the load from the first look of the program on, and judges from the world', async () => {
    const { start, stopped } = aProgram((world) => {
      world.clock.after(3 * MINUTE, () => world.arm.control.raise({ foreignScale: { pool: 'general', to: 2 } }));
    });
    const { figures, notes, policy } = await play(start);
    expect({ policy, notes }).toEqual({ policy: 'ca', notes: [] });
    expect(figures).toMatchObject({ hours: 0.17, nodes: { bought: 1, removed: 0 }, armCalls: 0, pending: { pods: 4, unfinished: 0 } });
    expect(figures.pending.maxSeconds).toBeGreaterThan(120);
    expect(figures.costPerDay).toBeGreaterThan(10 * 24);
    expect(stopped()).toBe(true);
  });

  it('reports a program that ends by itself', async () => {
    let isOver = false;
    const end = (world: World) => {
      world.clock.after(MINUTE, () => {
        isOver = true;
      });
    };
    const { start } = aProgram(end, { ended: () => (isOver ? 'exit code 255' : undefined) });
    expect((await play(start)).notes).toEqual(['ca ended by itself with seed 1: exit code 255.']);
  });

  it.each<{ what: string; over: Partial<RunningProgram>; says: string }>([
    {
      what: 'ends before its first look',
      over: { hasStarted: () => false, ended: () => 'exit code 1' },
      says: 'ca did not start: exit code 1.',
    },
    { what: 'never looks', over: { hasStarted: () => false }, says: 'ca did not start: no loop within 120 s.' },
  ])('fails if the program $what', async ({ over, says }) => {
    const { start, stopped } = aProgram(undefined, over);
    await expect(play(start)).rejects.toThrow(says);
    expect(stopped()).toBe(true);
  });
});

describe('the process of a rival', () => {
  /** A program that reports its arguments and variables, and then does what `then` says. */
  async function started(then: string): Promise<{ world: World; running: RunningProgram }> {
    const path = join(dir, 'rival');
    writeFileSync(path, `#!/bin/sh\necho "$@" "$AZURE_CA_FILE" "$SECRET"\n${then}\n`);
    chmodSync(path, 0o755);
    const world = await startWorld({
      spec: worldOfScenario(SCENARIO, 1),
      clock: new VirtualSimClock(START_MS),
      client: CLIENT,
      token: 't',
    });
    const env = { PATH: process.env['PATH'], SECRET: 'of the user' };
    return { world, running: await rivalProgram({ path, flags: ['--v=4'], env })(world, dir) };
  }

  it('gets the files of the world and nothing else, and its end is known with the end of its log', async () => {
    const { world, running } = await started('echo "it is broken"; exit 3');
    await expect.poll(() => running.ended(), { timeout: 60_000 }).toMatch(/^exit code 3; its log ends with: .*it is broken$/);
    const log = running.ended() ?? '';
    expect(log).toMatch(/--leader-elect=false --v=4 \S+ca\.pem it is broken$/);
    expect(running.hasStarted()).toBe(false);
    await running.stop();
    await world.stop();
  });

  it('ends when it is stopped', async () => {
    const { world, running } = await started('exec sleep 600');
    expect(running.ended()).toBeUndefined();
    await running.stop();
    expect(running.ended()).toContain('SIGTERM');
    await world.stop();
  });

  it('is a sentence if it cannot be started', async () => {
    const { world, running } = await started('');
    await running.stop();
    const absent = await rivalProgram({ path: join(dir, 'absent'), flags: [], env: {} })(world, dir);
    await expect.poll(() => absent.ended(), { timeout: 60_000 }).toContain('ENOENT');
    await absent.stop();
    await world.stop();
  });
});
