/** Whole runs: the production daemon over a small load, in virtual time. */
import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { POLICY_DAEMON } from '../../../commands/lab/lab-program.ts';
import { compareRuns } from '../../../lab/judge/comparison.ts';
import type { RunResult } from '../../../lab/judge/run-figures.ts';
import type { Scenario } from '../../../lab/loads/load.ts';
import { runPolicy } from '../../../lab/runs/policy-run.ts';
import { folderOfFile } from '../../../../test/support/temporary-folder.ts';

const MINUTE = 60_000;
/** A service that grows from one node to three and shrinks again, and a job that runs on. */
const SCENARIO: Scenario = {
  name: 'short',
  startMs: Date.UTC(2026, 0, 5),
  durationMs: 10 * MINUTE,
  currency: 'USD',
  pools: [
    {
      name: 'system',
      vmSize: 'Standard_D4s_v5',
      count: 1,
      min: 1,
      max: 1,
      mode: 'System',
      taints: ['CriticalAddonsOnly=true:NoSchedule'],
      pricePerHour: 1,
    },
    { name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 5, pricePerHour: 10 },
  ],
  workloads: [
    {
      id: 'web',
      name: 'web',
      namespace: 'default',
      kind: 'Deployment',
      pod: { containers: [{ requests: { cpu: '1500m', memory: '1Gi' } }] },
    },
    { id: 'job', name: 'job', namespace: 'default', kind: 'Job', pod: { containers: [{ requests: { cpu: '500m', memory: '1Gi' } }] } },
  ],
  events: [
    { kind: 'replicas', atMs: 0, workload: 'web', count: 1 },
    { kind: 'run', atMs: 30_000, workload: 'job', runMs: 3 * MINUTE },
    { kind: 'replicas', atMs: MINUTE, workload: 'web', count: 5 },
    { kind: 'replicas', atMs: 4 * MINUTE, workload: 'web', count: 1 },
  ],
};

const inFolder = folderOfFile();
beforeAll(() => {
  writeFileSync(inFolder('slow.yaml'), 'dryRun: true\nloop: {scanInterval: 30s}\n');
  writeFileSync(inFolder('quick.yaml'), 'loop: {scanInterval: 30s}\nscaleDown: {unneededTime: 1m, delayAfterAdd: 1m}\n');
  writeFileSync(inFolder('elsewhere.yaml'), 'nodeGroups: [{name: batch, min: 0, max: 3}]\n');
});

function runOf(name: string, seed: number): Promise<RunResult | undefined> {
  const policy = { name, flags: [`--config=${inFolder(`${name}.yaml`)}`] };
  return runPolicy({ program: POLICY_DAEMON, scenario: SCENARIO, seed, policy });
}

describe('a run of a policy', () => {
  it('depends on nothing but scenario, policy and seed; a policy that removes sooner costs less', async () => {
    const [first, again, quick] = [await runOf('slow', 1), await runOf('slow', 1), await runOf('quick', 1)];
    expect(again).toEqual(first);
    const runs = [first!, { ...again!, policy: 'again' }, quick!];
    const { figures } = compareRuns(['slow', 'again', 'quick'], runs);
    expect(figures.filter(({ differences }) => differences[0]?.verdict !== 'equal' || differences[0].difference !== 0)).toEqual([]);
    expect(first?.figures).toMatchObject({ jobs: { finished: 1, interrupted: 0 }, violations: 0, nodes: { bought: 2, removed: 0 } });
    expect(first?.figures.pending.pods).toBe(6);
    expect(first?.figures.pending.maxSeconds).toBeGreaterThan(30);
    expect(quick?.figures.nodes.removed).toBeGreaterThan(0);
    expect(quick?.figures.costPerDay).toBeLessThan(first!.figures.costPerDay * 0.9);
    // One system node for 1, and one to three general nodes for 10.
    expect(first?.figures.costPerDay).toBeGreaterThan(11 * 24);
    expect(first?.figures.costPerDay).toBeLessThan(31 * 24);
  });

  it('ends early when it is asked to', async () => {
    const policy = { name: 'slow', flags: [] };
    await expect(
      runPolicy({ program: POLICY_DAEMON, scenario: SCENARIO, seed: 1, policy, onProgress: () => false }),
    ).resolves.toBeUndefined();
  });

  it('refuses a policy that selects no pool of the scenario', async () => {
    await expect(runOf('elsewhere', 1)).rejects.toThrow(
      'The policy elsewhere selects none of the pools of short, which are system, general; remove its nodeGroups and discovery, or name these.',
    );
  });
});
