/**
 * Pools that are one pool per zone, planned together: who spreads pods over zones buys nodes in all of them at once, and
 * which zone a pod gets must not depend on which pool is looked at first.
 */
import type { NodeName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { agreeOnLabels, areSimilar, type SimilarityRules } from './similar-groups.ts';
import type { GroupTemplate } from './template-node.ts';
import { defined } from '../../../lib/defined.ts';

export const HOSTNAME = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';

/** What groups must have in common beside their nodes: who prefers one of them to the other does not want them mixed. */
export type Preference = (group: NodeGroup) => string;

/**
 * The templates in families of siblings: alike, preferred alike, and each in a zone of its own. A group of several
 * zones, or of none, is a family by itself. In the order of the templates.
 */
export function zonalFamilies(
  templates: readonly GroupTemplate[],
  likeness: SimilarityRules,
  preference: Preference,
): readonly (readonly GroupTemplate[])[] {
  const families: GroupTemplate[][] = [];
  for (const template of templates) {
    const zone = onlyZone(template);
    const family = zone === undefined ? undefined : families.find((other) => belongs(template, zone, other));
    if (family === undefined) families.push([template]);
    else family.push(template);
  }
  return families;

  function belongs(template: GroupTemplate, zone: string, family: readonly GroupTemplate[]): boolean {
    const [first] = family;
    return (
      first !== undefined &&
      onlyZone(first) !== undefined &&
      family.every((other) => onlyZone(other) !== zone) &&
      preference(first.group) === preference(template.group) &&
      areSiblings(first, template, likeness)
    );
  }
}

/** Whether the pods mind which zone (or other part of the cluster, save the host) other pods are in. */
export function dependsOnZones({ shape }: Pick<EquivalenceGroup, 'shape'>): boolean {
  return [shape.topologySpread, shape.podAffinity, shape.podAntiAffinity].some((rules) =>
    rules.some(({ topologyKey }) => topologyKey !== HOSTNAME),
  );
}

/** A node that nothing can run on. It has no host name: as a host it does not exist. */
export function placeholderNode(variant: Node): Node {
  return { ...variant, unschedulable: true, labels: { ...variant.labels, [HOSTNAME]: '' } };
}

/**
 * Puts such nodes into the snapshot where they are in a zone without nodes, so that it counts as a domain of the pod's
 * spread constraints. Answers their names, for {@link removePlaceholderNodes}.
 */
export function addPlaceholderNodes(
  snapshot: ClusterSnapshot,
  pod: Pod,
  { nodes, prefix }: { readonly nodes: readonly Node[]; readonly prefix: string },
): readonly NodeName[] {
  return nodes
    .filter(({ labels }) => snapshot.opensDomain(pod, labels))
    .map((node, index) => {
      const name = `${prefix}-foreseen-${index}`;
      snapshot.addNode({ ...node, name, uid: name }, []);
      return name;
    });
}

export function removePlaceholderNodes(snapshot: ClusterSnapshot, foreseen: readonly NodeName[]): void {
  for (const name of foreseen) snapshot.removeNode(name);
}

/**
 * Equal machines are alike whatever is known of them: of a group without nodes Azure tells less than a living node does,
 * so that a zone without nodes would never be a sibling of those that have some. Labels that alone make groups similar
 * are not asked: they may join machines of different sizes.
 */
function areSiblings(left: GroupTemplate, right: GroupTemplate, { ignoredLabels, ratios }: SimilarityRules): boolean {
  if (areSimilar(left, right, { ignoredLabels, ...defined({ ratios }) })) return true;
  const { vmSize, priority } = left.group;
  const areEqual = vmSize.toLowerCase() === right.group.vmSize.toLowerCase() && priority === right.group.priority;
  return (
    areEqual && left.template.source !== right.template.source && agreeOnLabels(left.template.labels, right.template.labels, ignoredLabels)
  );
}

function onlyZone({ variants }: GroupTemplate): string | undefined {
  return variants.length === 1 ? variants[0]?.labels[ZONE] : undefined;
}
