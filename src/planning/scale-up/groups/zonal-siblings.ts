/**
 * Zonal siblings are groups that are one group per zone; they are planned together. Pods that are spread over zones need nodes
 * in all zones at once, and the zone of a pod must not depend on which group is estimated first.
 */
import type { NodeName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { EquivalenceGroup } from '../pods/equivalence-groups.ts';
import { agreeOnLabels, areSimilar, type SimilarityRules } from './similar-groups.ts';
import type { GroupTemplate } from './template-node.ts';

const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

/** What siblings must have in common beside their nodes, such as price and priority: groups that differ must not be mixed. */
type Preference = (group: NodeGroup) => string;

/**
 * The templates in families of siblings: similar, of equal preference, and each in a zone of its own. A group of several zones,
 * or without a zone, is a family by itself. Keeps the order of the templates.
 */
export function zonalFamilies(
  templates: readonly GroupTemplate[],
  rules: SimilarityRules,
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
      areSiblings(first, template, rules)
    );
  }
}

/** Whether the place of the pods depends on the zone (or another part of the cluster, except the host) of other pods. */
export function dependsOnZones({ shape }: Pick<EquivalenceGroup, 'shape'>): boolean {
  return [shape.topologySpread, shape.podAffinity, shape.podAntiAffinity].some((rules) =>
    rules.some(({ topologyKey }) => topologyKey !== HOSTNAME),
  );
}

/** A node on which nothing can run. Its host name is empty: as a host it does not exist. */
export function placeholderNode(variant: Node): Node {
  return { ...variant, unschedulable: true, labels: { ...variant.labels, [HOSTNAME]: '' } };
}

/**
 * Adds placeholder nodes in zones that have no node, so that these zones count as domains of the pod's spread constraints.
 * Returns their names, for {@link removePlaceholderNodes}.
 */
export function addPlaceholderNodes(
  snapshot: ClusterSnapshot,
  pod: Pod,
  { nodes, prefix }: { readonly nodes: readonly Node[]; readonly prefix: string },
): readonly NodeName[] {
  return nodes
    .filter(({ labels }) => snapshot.opensDomain(pod, labels))
    .map((node, index) => {
      const name = `${prefix}-placeholder-${index}`;
      snapshot.addNode({ ...node, name, uid: name }, []);
      return name;
    });
}

export function removePlaceholderNodes(snapshot: ClusterSnapshot, names: readonly NodeName[]): void {
  for (const name of names) snapshot.removeNode(name);
}

/**
 * Groups of one VM size and priority are siblings even if less is known of one of them. A group without nodes has fewer known
 * labels than a live node, so its zone would never be a sibling of zones with nodes. `--balancing-label` does not count here:
 * such labels may join groups of different sizes.
 */
function areSiblings(left: GroupTemplate, right: GroupTemplate, rules: SimilarityRules): boolean {
  if (areSimilar(left, right, { ...rules, labels: [] })) return true;
  const { vmSize, priority } = left.group;
  const areEqual = vmSize.toLowerCase() === right.group.vmSize.toLowerCase() && priority === right.group.priority;
  return (
    areEqual &&
    left.template.source !== right.template.source &&
    agreeOnLabels(left.template.labels, right.template.labels, rules.ignoredLabels)
  );
}

function onlyZone({ variants }: GroupTemplate): string | undefined {
  return variants.length === 1 ? variants[0]?.labels[ZONE] : undefined;
}
