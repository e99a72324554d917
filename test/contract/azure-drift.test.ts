/** What AKS, the scale set, its machines and the cluster count differs, and is measured. */
import { describe, expect, it } from 'vitest';
import { meet, type Meeting } from '../azure/meeting.ts';

async function drift(m: Meeting, kind: string): Promise<number | undefined> {
  const found = await m.metrics.registry.getSingleMetric('aks_autoscaler_node_group_drift')?.get();
  return found?.values.find(({ labels }) => labels['kind'] === kind && String(labels['node_group']).includes('general'))?.value;
}

const warnings = (m: Meeting): readonly string[] =>
  // No node of these worlds ever joins, which is told too.
  m.logLines.filter((line) => line.includes('differ on pool sizes') && line.includes('the count of AKS 1'));

describe('drift', () => {
  it('AKS does not follow the capacity of a scale set: measured at once, logged in one line if it lasts', async () => {
    const m = await meet();
    expect(await drift(m, 'agent-pool')).toBeUndefined();
    m.groups();
    expect([await drift(m, 'agent-pool'), m.group('general').aksCount]).toEqual([0, undefined]);
    await m.increase(m.group('general'), 3);
    expect(m.group('general').aksCount).toBe(1);
    expect(await drift(m, 'agent-pool')).toBe(-3);
    await m.pass(5 * 60_000);
    expect(await drift(m, 'instances')).toBe(0);
    expect(warnings(m)).toEqual([]);
    await m.pass(20 * 60_000);
    expect(warnings(m)).toHaveLength(1);
    expect(warnings(m)[0]).toMatch(/general\S*: the count of AKS 1, expected 4/);
    expect(warnings(m)[0]).toContain('sets its capacity');
  });

  it('a pool that is gone takes its series with it', async () => {
    const m = await meet();
    m.groups();
    expect(await drift(m, 'instances')).toBe(0);
    m.arm.control.raise({ removePool: { pool: 'general' } });
    await m.pass(15 * 60_000);
    m.groups();
    expect(await drift(m, 'instances')).toBeUndefined();
  });

  it('what is warned of happens: an operation of AKS takes the machines away', async () => {
    const m = await meet();
    await m.increase(m.group('general'), 3);
    await m.pass(5 * 60_000);
    m.arm.control.raise({ rpReconcile: { pool: 'general' } });
    await m.pass(10 * 60_000);
    expect(m.group('general').target).toMatchObject({ value: 1 });
    expect(await drift(m, 'agent-pool')).toBe(0);
    expect(m.events).toContainEqual(expect.objectContaining({ kind: 'external-change', to: 1 }));
  });
});

describe('AKS at work on a pool', () => {
  it('is noticed with the first change that it makes, not when the list of pools is due again', async () => {
    const m = await meet();
    await m.pass(5_000);
    expect(m.group('general').frozen).toBeUndefined();
    m.arm.control.raise({ upgrade: { pool: 'general' } });
    await m.pass(62_000);
    expect(m.group('general').frozen).toMatch(/Upgrading/);
  });
});
