/** The last look before instances without a node are deleted: none of them has become a node since the plan. Must not delete anything. */
import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';

/** Reads of nodes that are under way at once. */
const AT_ONCE = 20;

/** The instances of these groups, by key. */
export function instancesOf(groups: readonly NodeGroup[]): ReadonlyMap<InstanceKey, Instance> {
  return new Map(groups.flatMap(({ instances = [] }) => instances.map((instance) => [instance.key, instance] as const)));
}

/** What a request to delete instances without a node demands: that they are still without one, and that failed ones are still failed. */
export function unregisteredChecks(
  planned: readonly Instance[],
  deps: Pick<DrainDeps, 'reader' | 'clock'>,
): Pick<DeleteRequest, 'failed' | 'objections'> {
  const byKey = new Map(planned.map((instance) => [instance.key, instance]));
  return {
    failed: new Set(planned.flatMap(({ key, state }) => (state === 'failed' ? [key] : []))),
    objections: async (keys, signal) => {
      // One that had a node at the plan is a node that no pod can reach.
      const wanted = keys.flatMap((key) => byKey.get(key) ?? []).filter(({ hostName }) => hostName !== undefined);
      const found = new Map<InstanceKey, string>();
      const watched = watchedNodes(deps);
      for (let from = 0; from < wanted.length; from += AT_ONCE) {
        await Promise.all(
          wanted.slice(from, from + AT_ONCE).map(async (instance) => {
            const node = watched.get(instance.providerId.toLowerCase()) ?? (await nodeNamed(instance, deps, signal));
            if (node !== undefined) found.set(instance.key, `instance ${instance.instanceId} has become node ${node}`);
          }),
        );
      }
      return found;
    },
  };
}

function watchedNodes({ reader, clock }: Pick<DrainDeps, 'reader' | 'clock'>): ReadonlyMap<string, NodeName> {
  return new Map([...reader.observe(clock.now()).nodes.values()].map(({ providerId, name }) => [providerId.toLowerCase(), name]));
}

/** The node with the name of the instance's host in the API, whatever instance it names. */
async function nodeNamed(
  { hostName = '' }: Instance,
  { reader }: Pick<DrainDeps, 'reader'>,
  signal: AbortSignal,
): Promise<NodeName | undefined> {
  return (await reader.readFresh(hostName.toLowerCase(), signal))?.node.name;
}
