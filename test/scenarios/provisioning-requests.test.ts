/** Requests for capacity as a queue makes them: granted as a whole, held for their pods, and over when those have come. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld, type VirtualRun } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, worldOf } from './support.ts';

const CHECK = 'check-capacity.autoscaling.x-k8s.io';
const ATOMIC = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';

const template: ObjectDraft = {
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 'batch', namespace: 'default' },
  template: { spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '3', memory: '256Mi' } } }] } },
};
const request = (
  name: string,
  provisioningClassName: string,
  count: number,
  parameters: Readonly<Record<string, string>> = {},
): ObjectDraft => ({
  apiVersion: 'autoscaling.x-k8s.io/v1',
  kind: 'ProvisioningRequest',
  metadata: { name, namespace: 'default' },
  spec: { provisioningClassName, podSets: [{ podTemplateRef: { name: 'batch' }, count }], parameters },
});

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

function said(world: VirtualRun, name: string): readonly string[] {
  const status: Status = world.world.cluster.store.get('provisioningrequests', 'default', name)?.status ?? {};
  return (status.conditions ?? []).map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);
}

const FLAGS = ['--enable-provisioning-requests', '--scale-down-unneeded-time=2m', '--scale-down-delay-after-add=1m'];
const consuming = (name: string) => ({ 'autoscaling.x-k8s.io/consume-provisioning-request': name });

describe('provisioning requests', () => {
  it('an atomic one is ordered as a whole, held, consumed; a check without room fails when it wants no second try', async () => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, max: 4 })]), flags: FLAGS });
    const here = run;
    const { cluster } = here.world;
    cluster.apply(template);
    cluster.apply(request('asks', CHECK, 9, { noRetry: 'true' }));
    cluster.apply(request('too-much', ATOMIC, 5));
    await here.until('the check fails', () => said(here, 'asks').includes('Failed True CapacityIsNotFound'), MINUTE);
    await here.until('the large one is refused', () => said(here, 'too-much').includes('Provisioned False CapacityIsNotFound'), MINUTE);
    expect(capacity(here, 'general')).toBe(1);
    cluster.remove(request('too-much', ATOMIC, 5));
    cluster.apply(request('job', ATOMIC, 3));
    await here.until('granted', () => said(here, 'job').includes('Provisioned True CapacityIsProvisioned'), MINUTE);
    expect(capacity(here, 'general')).toBe(3);
    await here.until('the nodes are there', () => cluster.store.nodes().length === 4, 10 * MINUTE);
    // Nothing runs there yet, and nothing is taken away while the room is held.
    await here.advance(2 * MINUTE);
    expect(capacity(here, 'general')).toBe(3);
    cluster.apply(deployment({ name: 'job', replicas: 3, cpu: '3', annotations: consuming('job') }));
    await here.until('all placed', () => bound(here, 'job') === 3, MINUTE);
    await here.until('over', () => said(here, 'job').includes('BookingExpired True CapacityBookingConsumed'), MINUTE);
    expect(capacity(here, 'general')).toBe(3);
    const patches = cluster.journal().filter(({ verb, resource }) => verb === 'patch' && resource === 'provisioningrequests/status');
    expect(patches.length).toBeLessThanOrEqual(5);
    expect(here.world.violations()).toEqual([]);
    expect(here.reports.flatMap(({ failures }) => failures)).toEqual([]);
  });

  it('requests and pods that both wait have their loops in turn', async () => {
    const run = await startedWorld({
      spec: worldOf([aPool({ name: 'general', count: 1, max: 10 })]),
      flags: [...FLAGS, '--scale-down-enabled=false'],
    });
    const here = run;
    const { cluster } = here.world;
    cluster.apply(template);
    const from = here.reports.length;
    for (const name of ['one', 'two']) cluster.apply(request(name, ATOMIC, 2));
    cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '3' }));
    await here.until(
      'both granted',
      () => ['one', 'two'].every((name) => said(here, name).includes('Provisioned True CapacityIsProvisioned')),
      2 * MINUTE,
    );
    await here.until('pods placed', () => bound(here, 'web') === 2, 10 * MINUTE);
    const turns = here.reports.slice(from).flatMap(({ rounds }) =>
      rounds.flatMap(({ plan }) => {
        const pods = plan.increases.flatMap((increase) => increase.pods);
        return pods.length === 0 ? [] : [pods.some(({ origin }) => origin === 'request') ? 'request' : 'pods'];
      }),
    );
    expect(turns).toEqual(['request', 'pods', 'request']);
    expect(capacity(here, 'general')).toBe(6);
  });

  it('of an atomic order one machine fails: its room is revoked with the reason, and what came goes again', async () => {
    const size = 'Standard_E4s_v5';
    const pools = [aPool({ name: 'sys', count: 1, max: 1 }), aPool({ name: 'general', vmSize: size, count: 0, min: 0, max: 6 })];
    const run = await startedWorld({ spec: worldOf(pools, { stock: { [`${size}/0`]: 2 } }), flags: FLAGS });
    const here = run;
    here.world.cluster.apply(template);
    here.world.cluster.apply(request('job', ATOMIC, 4));
    await here.until('an order of all', () => capacity(here, 'general') === 3, MINUTE);
    await here.until('revoked', () => said(here, 'job').includes('CapacityRevoked True CapacityIsNotFound'), 3 * MINUTE);
    await here.until('the capacity as it was', () => capacity(here, 'general') === 0, 6 * MINUTE);
    expect(here.writes()[0]).toMatchObject({ capacityBefore: 0, capacityAfter: 3 });
    expect(here.writes().filter(({ method }) => method === 'PUT')).toHaveLength(1);
    expect(here.world.violations()).toEqual([]);
  });

  it('a daemon that dies between the order and its answer orders once, and answers', async () => {
    const run = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 1, max: 10 })]), flags: FLAGS });
    const here = run;
    const { cluster } = here.world;
    cluster.apply(template);
    cluster.control.failNext(1, 503, { verb: 'patch', resource: 'provisioningrequests/status' });
    cluster.apply(request('job', ATOMIC, 3));
    await here.until('ordered', () => capacity(here, 'general') === 3, MINUTE);
    expect(said(here, 'job')).toEqual([]);
    here.killDaemon();
    await here.startDaemon();
    await here.until('answered', () => said(here, 'job').some((text) => text.startsWith('Provisioned True')), MINUTE);
    await here.advance(2 * MINUTE);
    expect(capacity(here, 'general')).toBe(3);
  });
});
