/** The last look before instances without a node are deleted: none of them has become a node since the plan. Must not delete anything. */
import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { InstanceRemoval } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { DeleteRequest } from '../../domain/ports/cloud.ts';
import type { DrainDeps } from '../deps/loop-deps.ts';

/** Reads of nodes that are under way at once. */
const AT_ONCE = 20;

/** The instances of these groups, by key. */
export function instancesOf(groups: readonly NodeGroup[]): ReadonlyMap<InstanceKey, Instance> {
  return new Map(groups.flatMap(({ instances = [] }) => instances.map((instance) => [instance.key, instance] as const)));
}

/**
 * What a request to delete instances without a node demands: that they are those of the plan, still without a node, and that failed ones
 * are still failed.
 */
export function unregisteredChecks(
  planned: readonly Instance[],
  deps: Pick<DrainDeps, 'reader' | 'clock'> & Pick<InstanceRemoval, 'cause'>,
): Pick<DeleteRequest, 'failed' | 'objections' | 'uids'> {
  const byKey = new Map(planned.map((instance) => [instance.key, instance]));
  return {
    // guard: a request to delete instances without a node names those of the plan
    uids: new Map(planned.flatMap(({ key, uid }) => (uid === undefined ? [] : [[key, uid] as const]))),
    // guard: an instance that was to go because it failed must have failed still
    failed: new Set(planned.flatMap(({ key, state }) => (state === 'failed' ? [key] : []))),
    objections: async (keys, signal) => {
      // One that had a node at the plan is a node that no pod can reach.
      const wanted = keys.flatMap((key) => byKey.get(key) ?? []).filter(({ hostName }) => hostName !== undefined);
      const found = new Map<InstanceKey, string>();
      const watched = watchedNodes(deps);
      for (let from = 0; from < wanted.length; from += AT_ONCE) {
        const looks = wanted.slice(from, from + AT_ONCE).map(async (instance) => {
          const objection = await objectionTo(instance, { ...deps, watched }, signal);
          if (objection !== undefined) found.set(instance.key, objection);
        });
        await Promise.all(looks);
      }
      return found;
    },
  };
}

interface LookDeps extends Pick<DrainDeps, 'reader'>, Pick<InstanceRemoval, 'cause'> {
  /** The watched nodes, by provider id in lower case. */
  readonly watched: ReadonlyMap<string, NodeName>;
}

/** Why the instance is not deleted: it has become a node that may have pods. */
async function objectionTo(instance: Instance, deps: LookDeps, signal: AbortSignal): Promise<string | undefined> {
  const name = deps.watched.get(instance.providerId.toLowerCase()) ?? instance.hostName?.toLowerCase() ?? '';
  const node = await deps.reader.readFresh(name, signal);
  // guard: an instance that has become a node is not deleted as one without
  // guard: the rest of an atomic group that is in use is not deleted
  if (node === undefined || (isRestOfGroup(instance, deps) && isUnused(node.pods))) return undefined;
  return `instance ${instance.instanceId} has become node ${node.node.name}`;
}

function watchedNodes({ reader, clock }: Pick<DrainDeps, 'reader' | 'clock'>): ReadonlyMap<string, NodeName> {
  return new Map([...reader.observe(clock.now()).nodes.values()].map(({ providerId, name }) => [providerId.toLowerCase(), name]));
}

/** If one instance of an atomic group fails, the group goes as a whole, also an instance that has become a node meanwhile. */
function isRestOfGroup({ state }: Instance, { cause }: Pick<InstanceRemoval, 'cause'>): boolean {
  return cause === 'failed' && state !== 'failed';
}

/** Only what the node itself brought runs on it. */
function isUnused(pods: readonly Pod[]): boolean {
  return pods.every(({ daemonSet, mirror }) => daemonSet || mirror);
}
