/** Why other pods keep a pod off a new node. Must not know why a group may not grow. */
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { matchesNodeAffinity } from '../../scheduling/predicates/node-affinity.ts';
import type { ClusterSnapshot } from '../../scheduling/snapshot/cluster-snapshot.ts';
import { fitsStatically } from '../../scheduling/snapshot/node-only-fit.ts';
import { withFork } from '../../scheduling/snapshot/snapshot.ts';
import { type GroupTemplate, newNodeFrom, simulatedNodeName } from './groups/template-node.ts';
import type { EquivalenceGroup } from './pods/equivalence-groups.ts';

/** Each check adds a node to the snapshot and removes it again. Beyond these, refusals are explained in general words. */
const MAX_CHECKS = 500;
/** One name for all: the snapshot remembers every host name. */
const CHECKED_NODE = simulatedNodeName('checked');

/** The same for pods that a new node refuses anyway. */
const MAX_FURTHER_CHECKS = 200;

/** Reasons that depend on other pods. */
const DEPENDING_ON_OTHERS: ReadonlySet<FitReason['kind']> = new Set(['topology-spread', 'pod-affinity', 'volume', 'device']);
/** Those that the node itself never gives. */
const ONLY_OF_OTHERS: ReadonlySet<FitReason['kind']> = new Set(['topology-spread', 'pod-affinity']);

export interface RefusalsOnNewNode {
  /** For a pod that an empty new node accepts. */
  readonly alone: (pod: Pod, template: GroupTemplate) => readonly FitReason[];
  /** For a pod that an empty new node refuses: reasons beside those. */
  readonly further: (pod: Pod, template: GroupTemplate) => readonly FitReason[];
}

/**
 * Why other pods keep a pod off a new node, with the counts of the snapshot as it is. Leaves the snapshot as found. The result
 * is empty if nothing refuses a single pod on a single new node, or after too many checks.
 */
export function refusalsOnNewNode(snapshot: ClusterSnapshot): RefusalsOnNewNode {
  const checkOn = (pod: Pod, variant: Node, { daemonPods }: GroupTemplate): readonly FitReason[] =>
    withFork(snapshot, () => {
      snapshot.addNode(newNodeFrom(variant, CHECKED_NODE), daemonPods);
      return snapshot.check(pod, CHECKED_NODE);
    });
  const left = { alone: MAX_CHECKS, further: MAX_FURTHER_CHECKS };
  return {
    alone(pod, template) {
      for (const variant of template.variants) {
        if (!fitsStatically(pod.shape, variant) || left.alone-- <= 0) continue;
        const reasons = checkOn(pod, variant, template).filter(({ kind }) => DEPENDING_ON_OTHERS.has(kind));
        if (reasons.length > 0) return reasons;
      }
      return [];
    },
    // Where the node's labels already exclude the pod, its rules about other pods mean nothing.
    further(pod, template) {
      const variant = template.variants.find((each) => matchesNodeAffinity(pod.shape, each));
      if (variant === undefined || left.further-- <= 0) return [];
      return checkOn(pod, variant, template).filter(({ kind }) => ONLY_OF_OTHERS.has(kind));
    },
  };
}

/** If a pod fits an empty node and yet found none, the placement of other pods kept it out. */
export function topologyReasons({ shape }: EquivalenceGroup): readonly FitReason[] {
  const spread = shape.topologySpread[0];
  if (spread !== undefined) {
    return [{ kind: 'topology-spread', topologyKey: spread.topologyKey, detail: `max skew ${spread.maxSkew} on any new node` }];
  }
  const [near] = shape.podAffinity;
  const term = near ?? shape.podAntiAffinity[0];
  const rule = term === undefined ? 'repelled' : near === undefined ? 'anti-affinity' : 'affinity';
  const detail = 'the placement of other pods keeps it off every new node';
  return [{ kind: 'pod-affinity', rule, topologyKey: term?.topologyKey ?? '', detail }];
}
