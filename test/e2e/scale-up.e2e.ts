/** From a burst to pods that the real scheduler bound on nodes of the right kind. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aPool } from '../scenarios/support.ts';
import { kubectl } from './kubectl.ts';
import { scenarios } from './scenario.ts';
import { until } from './until.ts';
import { deployment } from './workloads.ts';
import type { E2eWorld } from './world.ts';
import type { Event } from './seen-objects.ts';

const { beginWithDaemon, plane } = scenarios();
let world: E2eWorld;

interface Counted {
  readonly status: string;
  readonly nodeCounts?: { readonly registered: { readonly total: number; readonly ready: number } };
}

/** The part of the status document that is looked at. */
interface Status {
  readonly autoscalerStatus: string;
  readonly clusterWide: { readonly health: Counted; readonly scaleUp: Counted };
  readonly nodeGroups?: readonly { readonly name: string; readonly health: Counted; readonly scaleUp: Counted }[];
}

describe('scale-up on a real control plane', () => {
  it('a burst becomes pods that run on new nodes, and says so in events and in the status', async () => {
    world = await beginWithDaemon({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    const [daemon] = world.daemons;
    const before = new Set((await world.nodes()).map(({ metadata }) => metadata.name));
    await world.apply(deployment({ name: 'web', replicas: 16, cpu: '700m' }));
    const pods = await world.untilRunning('web', 16);
    const nodes = await world.untilNodes('general', 4);
    const used = new Set(pods.map(({ spec }) => spec.nodeName));
    expect([...used].some((name) => !before.has(name ?? ''))).toBe(true);
    expect(nodes.every(({ spec }) => spec.providerID?.startsWith('azure:///') === true)).toBe(true);
    expect(world.capacity('general')).toBe(4);
    const triggered = await until('events', async () => {
      const events = await world.events('TriggeredScaleUp');
      return events.length > 0 ? events : undefined;
    });
    expect(new Set(triggered.map(({ involvedObject }) => involvedObject.kind))).toEqual(new Set(['Pod']));
    // One plan, or two when the burst came in pieces: each says from where to where.
    for (const { message } of triggered) expect(message).toMatch(/aks-general-\S+ \d->\d \(max: 10\)/);
    expect(daemon?.complaints()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('says in the status ConfigMap and in events what is so, where kubectl shows it', async () => {
    world = await beginWithDaemon({ pools: [aPool({ name: 'general', count: 1, min: 1 })] }, ['--scale-down-enabled=false']);
    await world.apply(deployment({ name: 'web', replicas: 4, cpu: '1500m' }));
    const [pod] = await world.untilRunning('web', 4);
    const status = await until('the status shows two ready nodes', async () => {
      const map = await plane().admin.get('/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status');
      const told = parse((map?.['data'] as { readonly status?: string } | undefined)?.status ?? '') as Status | null;
      const group = told?.nodeGroups?.find(({ name }) => name.startsWith('aks-general-'));
      return group?.health.nodeCounts?.registered.ready === 2 && group.scaleUp.status === 'NoActivity' ? told : undefined;
    });
    expect(status).toMatchObject({
      autoscalerStatus: 'Running',
      clusterWide: { health: { status: 'Healthy' }, scaleUp: { status: 'NoActivity' } },
    });
    expect(status?.clusterWide.health.nodeCounts?.registered.total).toBe((await world.nodes()).length);
    const about = (kind: string) => async (): Promise<readonly string[] | undefined> => {
      const told = (await plane().admin.list('/api/v1/namespaces/kube-system/events')) as readonly Event[];
      const found = told.filter(({ involvedObject }) => involvedObject.kind === kind).map(({ reason, message }) => `${reason}: ${message}`);
      return found.length > 0 ? found : undefined;
    };
    expect(await until('events of the status object', about('ConfigMap'))).toContainEqual(
      expect.stringMatching(/^ScaledUpGroup: Scale-up: group aks-general-\S+ size set to 2 instead of 1 \(max: 10\)$/),
    );
    const described = await until('kubectl shows it', async () => {
      const told = await Promise.all(
        (await world.pods('web')).map(({ metadata }) => kubectl(plane(), 'describe', 'pod', metadata.name, '-n', world.namespace)),
      );
      return told.find((text) => text.includes('TriggeredScaleUp'));
    });
    expect(described).toMatch(/Normal\s+TriggeredScaleUp\s+\S+\s+aks-autoscaler\s+pod triggered scale-up: \[\{/);
    expect(pod?.metadata.namespace).toBe(world.namespace);
  });

  it('takes another pool when the first is out of stock, and the first rests', async () => {
    world = await beginWithDaemon({
      pools: [
        aPool({ name: 'first', vmSize: 'Standard_F4s_v2', count: 0 }),
        aPool({ name: 'second', vmSize: 'Standard_D8s_v5', count: 0 }),
      ],
      spec: { stock: { 'Standard_F4s_v2/0': 0 } },
    });
    await world.apply(deployment({ name: 'web', replicas: 2, cpu: '1500m' }));
    const pods = await world.untilRunning('web', 2);
    const second = new Set((await world.nodes('second')).map(({ metadata }) => metadata.name));
    expect(pods.every(({ spec }) => second.has(spec.nodeName ?? ''))).toBe(true);
    const failed = await until('the failure is reported', async () => {
      const events = await world.events('ScaleUpFailed');
      return events.length > 0 ? events : undefined;
    });
    expect(failed[0]?.message).toMatch(/first/);
    expect(world.violations).toEqual([]);
  });

  it('plans again when another writer came between plan and write (412)', async () => {
    world = await beginWithDaemon({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    expect(world.arm.control.raise({ foreignScale: { pool: 'general', delta: 1, when: 'before-next-write' } })).toBeUndefined();
    await world.apply(deployment({ name: 'web', replicas: 8, cpu: '1500m' }));
    await world.untilRunning('web', 8, 120_000);
    // 2 of 1500m per node: four nodes, the foreign one among them.
    expect(world.capacity('general')).toBe(4);
    const writes = world.arm.control.journal().filter(({ method, pool }) => method !== 'GET' && pool === 'general');
    expect(writes.some(({ status }) => status === 412)).toBe(true);
    expect(await world.daemons[0]?.metric(/aks_autoscaler_replans_total\{cause="conflict"\} (\d+)/)).toBe(1);
    expect(world.violations).toEqual([]);
  });

  it('reports on a pod that nothing can help', async () => {
    world = await beginWithDaemon({ pools: [aPool({ name: 'general', count: 1, min: 1 })] });
    await world.apply(deployment({ name: 'giant', cpu: '64' }));
    const told = await until('the event', async () => (await world.events('NotTriggerScaleUp'))[0]);
    expect(told.message).toMatch(/needs \d+ CPU, the node offers/);
    expect(world.capacity('general')).toBe(1);
  });
});
