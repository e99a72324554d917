/** Spare room: made before it is needed, given to whoever comes, made again, and given back with its buffer. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const template = (cpu: string): ObjectDraft => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 'chunk', namespace: 'default' },
  template: { spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu, memory: '256Mi' } } }] } },
});
const buffer = (name: string, spec: Readonly<Record<string, unknown>>): ObjectDraft => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityBuffer',
  metadata: { name, namespace: 'default' },
  spec,
});

interface BufferStatus {
  readonly replicas?: number;
  readonly podTemplateGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

function statusOf(world: VirtualRun, name: string): BufferStatus {
  const status: BufferStatus = world.world.cluster.store.get('capacitybuffers', 'default', name)?.status ?? {};
  return status;
}

const FLAGS = [
  '--capacity-buffer-controller-enabled',
  '--capacity-buffer-pod-injection-enabled',
  '--scale-down-unneeded-time=2m',
  '--scale-down-delay-after-add=1m',
];

describe('capacity buffers', () => {
  it('room for three of eleven is made, used, made again after an edit, and given back', async () => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1 })]), flags: FLAGS });
    const { world } = run;
    const here = run;
    world.cluster.apply(template('3'));
    world.cluster.apply(buffer('spare', { podTemplateRef: { name: 'chunk' }, replicas: 2 }));
    await here.until('room for two', () => capacity(here, 'general') === 2, 2 * MINUTE);
    await here.advance(10 * MINUTE);
    // Kept although nothing runs there, and told once.
    expect(capacity(here, 'general')).toBe(2);
    expect(statusOf(here, 'spare').conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'ReadyForProvisioning True AttributesSetSuccessfully',
      'Provisioning True FakePodsInjected',
    ]);
    const patches = world.cluster.journal().filter(({ verb, resource }) => verb === 'patch' && resource === 'capacitybuffers/status');
    expect(patches).toHaveLength(2);
    const startedMs = here.clock.now();
    world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
    await here.until('bound at once', () => bound(here, 'web') === 2, MINUTE);
    expect(here.clock.now() - startedMs).toBeLessThan(30_000);
    await here.until('the room is made again', () => capacity(here, 'general') === 4, 2 * MINUTE);
    world.cluster.apply(template('1'));
    await here.until('the edit is taken in', () => statusOf(here, 'spare').podTemplateGeneration === 2, MINUTE);
    await here.until('less room is enough', () => capacity(here, 'general') < 4, 20 * MINUTE);
    world.cluster.apply(buffer('share', { scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'web' }, percentage: 120 }));
    await here.until('a share of a workload', () => statusOf(here, 'share').replicas === 3, MINUTE);
    await here.until('room for that, too', () => capacity(here, 'general') >= 5, 5 * MINUTE);
    for (const name of ['spare', 'share']) world.cluster.remove(buffer(name, {}));
    await here.until('given back', () => capacity(here, 'general') === 2, 30 * MINUTE);
    expect(bound(here, 'web')).toBe(2);
    // No event speaks of a pod that is not there, and nobody tried to evict one.
    expect(
      world.cluster.store.events().filter(({ involvedObject }) => involvedObject?.name?.startsWith('capacity-buffer-') === true),
    ).toEqual([]);
    // The buffers are told instead.
    const told = world.cluster.store.events().filter(({ involvedObject }) => involvedObject?.kind === 'CapacityBuffer');
    expect(new Set(told.map(({ reason, involvedObject }) => `${reason} ${involvedObject?.name}`))).toEqual(
      new Set(['TriggeredScaleUp spare', 'TriggeredScaleUp share']),
    );
    expect(world.violations()).toEqual([]);
    expect(here.reports.flatMap(({ failures }) => failures)).toEqual([]);
  });

  it('ResourceQuotas trim it, and a buffer that no group can make room for gets a reason', async () => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, max: 2 })]), flags: FLAGS });
    const here = run;
    const { cluster } = run.world;
    const hard = { 'requests.cpu': '7' };
    cluster.apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'team', namespace: 'default' }, spec: { hard } });
    cluster.apply(template('3'));
    cluster.apply(buffer('spare', { podTemplateRef: { name: 'chunk' }, replicas: 6 }));
    await here.until('it is trimmed', () => statusOf(here, 'spare').replicas === 2, 2 * MINUTE);
    expect(statusOf(here, 'spare').conditions?.find(({ type }) => type === 'LimitedByQuotas')).toMatchObject({
      status: 'True',
      reason: 'ResourceQuotasAllocated',
    });
    await here.until('room for two', () => capacity(here, 'general') === 2, 2 * MINUTE);
    cluster.apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'team', namespace: 'default' },
      spec: { hard: { pods: '9' } },
    });
    await here.until('it is whole again', () => statusOf(here, 'spare').replicas === 6, 2 * MINUTE);
    await here.advance(2 * MINUTE);
    expect(capacity(here, 'general')).toBe(2);
    const told = cluster.store
      .events()
      .filter(({ involvedObject, reason }) => involvedObject?.kind === 'CapacityBuffer' && reason === 'NotTriggerScaleUp');
    expect(told.map(({ message }) => message).join()).toContain('at its maximum (');
    // Four chunks more, one on each node.
    expect(told.map(({ message }) => message).join()).toMatch(/Fix that works: raise the maximum of aks-general-\S+ from 2 to 6\./);
  });
});
