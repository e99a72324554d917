/** What /debug/agents says of one agent: what its rows wait for, and what it may still ask of Azure. */
import { describe, expect, it } from 'vitest';
import { cacheHooks } from '../../src/azure/view/cache-metrics.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { meet, type Meeting } from '../azure/meeting.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { valueOf } from '../loop/support.ts';

const agent = (m: Meeting, id: string) => m.azure.agentStatus().find((one) => one.id === id);

describe('the report of an agent', () => {
  it('shows the fence that a change of ours raised, with its age, until it is read back', async () => {
    const m = await meet();
    expect(agent(m, 'scaleSets')).not.toHaveProperty('fences');
    await m.increase(m.group('general'), 2);
    m.clock.advance(3_000);
    expect(agent(m, 'scaleSets')?.fences).toMatchObject([{ group: 'fenced', ageMs: 3_000, inFlight: 1 }]);
    expect(agent(m, 'scaleSets')?.fences?.[0]?.key).toContain('general');
    expect(agent(m, 'agentPools')).not.toHaveProperty('fences');
    await m.pass(600_000);
    expect(agent(m, 'scaleSets')).not.toHaveProperty('fences');
  });

  it('shows machines that are being removed beside the list of their set', async () => {
    const m = await meet();
    await m.increase(m.group('general'), 2);
    await m.pass(600_000);
    const { id, instances = [] } = m.group('general');
    const one = instances.slice(0, 1).map(({ key }) => key);
    const outcome = await m.drive(m.azure.deleteInstances({ ...PLAIN_DELETE, group: id, instances: one, allowBelowMin: false }, m.signal));
    expect(outcome).toMatchObject({ kind: 'accepted' });
    const told = m.azure.agentStatus().filter(({ fences }) => fences?.some(({ group }) => group === 'existence') === true);
    expect(told.map((each) => each.id)).toEqual([expect.stringMatching(/^instances\/.*general/)]);
    expect(told[0]?.fences?.map(({ key }) => key)).toEqual(one);
  });

  it('shows the scarcest of the budgets that its calls draw on', async () => {
    const m = await meet();
    const budget = agent(m, 'scaleSets')?.budget;
    expect(budget?.policy).toMatch(/^(HighCostGetVMScaleSet|subscription-)/);
    expect(budget === undefined ? [] : [budget.remaining <= budget.largest, budget.remaining > 0]).toEqual([true, true]);
    expect(agent(m, 'scaleSets')).toMatchObject({ state: 'idle', lastOutcome: 'succeeded', consecutiveFailures: 0 });
  });
});

describe('what is measured of lists', () => {
  it('rows that one list names twice are counted', async () => {
    const metrics = createMetrics();
    const hooks = cacheHooks(metrics.cache, createLog('silent', { write: () => undefined }), { now: () => 0 });
    hooks.duplicates?.('instances', 3);
    expect(await valueOf(metrics.cache.duplicates, { table: 'instances' })).toBe(3);
  });

  it('reports how long an agent has waited for its run, and nothing for one that is not due', async () => {
    const m = await meet();
    m.groups();
    expect(await valueOf(m.metrics.cache.agentLag, { kind: 'scaleSets' })).toBe(0);
    m.clock.advance(120_000);
    m.groups();
    expect(await valueOf(m.metrics.cache.agentLag, { kind: 'scaleSets' })).toBeGreaterThan(10);
  });
});
