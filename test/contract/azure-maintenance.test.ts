/** AKS's maintenance configurations: when they are read, what they keep from being removed, and what holds while they are not known. */
import { describe, expect, it } from 'vitest';
import { describeBlock } from '../../src/domain/group-blocks.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';
import { NO_SCHEDULES } from '../../src/domain/schedule-rules.ts';
import { aCluster } from '../support/builders.ts';

const MINUTE = 60_000;
/** From ten minutes after the start of the world for four hours, every day. */
const HOURS: WorldSpec['maintenance'] = [
  {
    name: 'aksManagedNodeOSUpgradeSchedule',
    maintenanceWindow: { schedule: { daily: { intervalDays: 1 } }, durationHours: 4, utcOffset: '+01:00', startTime: '01:10' },
  },
  { name: 'default', timeInWeek: [{ day: 'Saturday', hourSlots: [12] }] },
];
const USES: Partial<AzureOptions> = {
  nodeGroupOptions: [
    { name: 'general', options: { maintenance: 'avoid' } },
    { name: 'empty', options: { maintenance: 'only' } },
  ],
};
const reads = (m: Meeting) => m.arm.control.journal().filter(({ path }) => path.includes('maintenanceConfigurations')).length;
const removals = (m: Meeting, pool: string) => describeBlock(m.group(pool).blocks.removal);
const agents = (m: Meeting) => m.azure.agentStatus().map(({ id }) => id);
const findings = (m: Meeting) => m.azure.observe(aCluster(), m.clock.now()).scheduleFindings;
const SINCE = 'removals are paused until';

describe("AKS's maintenance windows", () => {
  it('keep removals out or in, each pool as it says, and are read once an hour', async () => {
    const m = await meet(USES, { ...SPEC, maintenance: HOURS });
    await m.pass(MINUTE);
    expect(removals(m, 'general')).toBeUndefined();
    expect(removals(m, 'empty')).toBe(`${SINCE} 2026-11-21T00:10:00Z by AKS's maintenance windows`);
    expect(removals(m, 'system')).toBeUndefined();
    expect(findings(m)).toEqual([]);
    await m.pass(10 * MINUTE);
    expect(removals(m, 'general')).toBe(`${SINCE} 2026-11-21T04:10:00Z by AKS's maintenance windows`);
    expect(removals(m, 'empty')).toBeUndefined();
    expect(m.group('general').blocks.increase).toBeUndefined();
    expect(m.azure.observe(aCluster(), m.clock.now()).schedules.aks).toMatchObject({ known: true, configurations: [{}, {}] });
    expect(reads(m)).toBe(1);
  });

  it('are not read where no pool cares for them, and no more when none does any more', async () => {
    const m = await meet({}, { ...SPEC, maintenance: HOURS });
    await m.pass(2 * MINUTE);
    expect(reads(m)).toBe(0);
    expect(m.azure.observe(aCluster(), m.clock.now()).schedules).toEqual(NO_SCHEDULES);
    const selection = {
      nodeGroups: [],
      discovery: [{ selectors: [{ key: 'cluster-autoscaler-enabled', value: 'true' }], min: undefined, max: undefined }],
    };
    m.azure.regroup({ ...selection, schedules: { ...NO_SCHEDULES, maintenance: 'only' } });
    expect(agents(m)).toContain('maintenance');
    expect(removals(m, 'general')).toContain('have not been read yet');
    expect(findings(m)).toEqual([]);
    await m.pass(MINUTE);
    expect([reads(m), removals(m, 'general')]).toEqual([1, `${SINCE} 2026-11-21T00:10:00Z by AKS's maintenance windows`]);
    m.azure.regroup(selection);
    expect(removals(m, 'general')).toBeUndefined();
    expect(agents(m)).not.toContain('maintenance');
  });

  it('that cannot be read keep nodes where they matter, say why, and are tried rarely', async () => {
    const spec = {
      ...SPEC,
      maintenance: HOURS,
      roleActions: ['Microsoft.Compute/*', 'Microsoft.ContainerService/managedClusters/agentPools/read'],
    };
    const m = await meet(USES, spec);
    await m.pass(15 * MINUTE);
    const why = 'the identity lacks Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read on the cluster';
    expect(removals(m, 'general')).toBe(`removals wait, since AKS's maintenance windows are not known: ${why}`);
    expect(removals(m, 'system')).toBeUndefined();
    expect(findings(m)).toEqual([expect.stringContaining(`AKS's maintenance windows are not known: ${why}. Removals wait in aks-empty-`)]);
    expect(reads(m)).toBeLessThanOrEqual(4);
  });

  it('that AKS does not have keep the nodes that are removed in them alone', async () => {
    const m = await meet(USES, { ...SPEC, maintenance: [] });
    await m.pass(MINUTE);
    expect([removals(m, 'general'), removals(m, 'empty') === undefined]).toEqual([undefined, false]);
    expect(findings(m)).toEqual([expect.stringMatching(/AKS has no maintenance window, so that no node of aks-empty\S* is removed/)]);
  });

  it('need the names of the cluster', async () => {
    const m = await meet({ ...USES, clusterName: undefined }, { ...SPEC, maintenance: HOURS });
    expect(removals(m, 'general')).toContain('reading them needs the name of the cluster');
    expect(reads(m)).toBe(0);
  });
});
