/** The adapter and the emulated AKS around one pool of type VirtualMachines. */
import type { ShownGroup } from '../support/builders.ts';
import { getClient } from '@azure-rest/core-client';
import { ClientSecretCredential } from '@azure/identity';
import type { AzureNodeGroups } from '../../src/azure/azure.ts';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import type { InstanceKey } from '../../src/domain/ids.ts';
import type { ClusterView } from '../../src/domain/observation.ts';
import type { JournalEntry } from '../../world/simulator/arm/http/journal.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { PLAIN_DELETE } from '../../src/domain/ports/cloud.ts';
import { meet, type Meeting } from '../azure/meeting.ts';

export const SMALL = 'Standard_D4s_v5';
export const LARGE = 'Standard_D8s_v5';
export const SMALL_GROUP = `mixed/${SMALL}`;
export const LARGE_GROUP = `mixed/${LARGE}`;
export const TWO_SIZES: Partial<PoolSpec> = { count: 2, sizes: [{ vmSize: LARGE, count: 1 }] };

export function vmsPool(change: Partial<PoolSpec> = {}): PoolSpec {
  return { name: 'mixed', kind: 'vms-pool', vmSize: SMALL, count: 3, min: 1, max: 10, ...change };
}

export function vmsWorld(pools: readonly PoolSpec[], change: Partial<WorldSpec> = {}): WorldSpec {
  return {
    subscriptionId: '11111111-2222-3333-4444-555555555555',
    tenantId: '99999999-2222-3333-4444-555555555555',
    location: 'westeurope',
    clusterName: 'aks',
    clusterResourceGroup: 'rg',
    nodeResourceGroup: 'MC_rg_aks_westeurope',
    pools,
    discoveryTags: { 'cluster-autoscaler-enabled': 'true' },
    stock: {},
    quota: {},
    seed: 5,
    ...change,
  };
}

export interface Stage extends Omit<Meeting, 'increase'> {
  increase(id: string, by: number): ReturnType<AzureNodeGroups['increase']>;
  /** Names machines of a group by their place in its list. */
  remove(id: string, places: readonly number[], allowBelowMin?: boolean): ReturnType<AzureNodeGroups['deleteInstances']>;
  /** What AKS aims at, size by size. */
  counts(pool?: string): Readonly<Record<string, number>>;
  /** Writes of the adapter, oldest first. */
  writes(): readonly JournalEntry[];
  /** The body of an answer to somebody else. */
  call(method: 'GET' | 'PUT', path: string, body?: unknown): Promise<unknown>;
}

const PERSON = { clientId: 'person', clientSecret: 'secret', foreign: true };

export async function stage(spec: WorldSpec, rest: Partial<AzureOptions> = {}): Promise<Stage> {
  const meeting = await meet(rest, spec, { clients: [PERSON] });
  const { arm, azure, caPem, signal } = meeting;
  const authority = { authorityHost: arm.url, disableInstanceDiscovery: true, tlsOptions: { ca: caPem } };
  const person = new ClientSecretCredential(spec.tenantId, PERSON.clientId, PERSON.clientSecret, authority);
  const group = (id: string, cluster?: ClusterView): ShownGroup => {
    const found = meeting.groups(cluster).find((each) => each.id === id);
    if (found === undefined) throw new Error(`no group ${id}`);
    return found;
  };
  const self: Stage = {
    ...meeting,
    group,
    increase: (id, by) => meeting.increase(group(id), by),
    remove: (id, places, allowBelowMin = false) => {
      const { id: name, instances = [] } = group(id);
      const meant = places.map((place): InstanceKey => {
        const key = instances[place]?.key;
        if (key === undefined) throw new Error(`no machine ${place} in ${id}`);
        return key;
      });
      return azure.deleteInstances({ ...PLAIN_DELETE, group: name, instances: meant, allowBelowMin }, signal);
    },
    counts: (pool = 'mixed') => arm.control.state().agentPools.find(({ name }) => name === pool)?.sizes ?? {},
    writes: () => arm.control.journal().filter(({ principal, method }) => principal === 'autoscaler' && method !== 'GET'),
    call: async (method, path, body) => {
      const client = getClient(arm.url, person, { tlsOptions: { ca: caPem }, credentials: { scopes: [`${arm.url}/.default`] } });
      const target = client.pathUnchecked(path);
      const answer = method === 'GET' ? await target.get() : await target.put({ body, contentType: 'application/json' });
      return answer.body;
    },
  };
  // The list of machines is asked for once the pools are known.
  await meeting.pass(2_000);
  return self;
}

/** Makes the next answers about the pool say something else than AKS would. */
export function answerPool(
  s: Stage,
  method: string,
  effect: Parameters<Stage['arm']['control']['addFault']>[0]['effect'],
  times = 1,
): void {
  s.arm.control.addFault({
    id: `${method}-${times}`,
    match: { method, pathGlob: method === 'POST' ? '**/deleteMachines' : '**/agentPools/mixed', times },
    effect,
  });
}
