/** Which groups are one group per zone, from the observation alone: removals and the metric of the skew read it, beside a plan of growth. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import { zonePart } from '../../../domain/node-template.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { ScaleUpPolicy } from '../../../domain/policy.ts';
import { compareText } from '../../../lib/comparison.ts';
import { preferenceRule } from '../../expanders/preference.ts';
import { similarityRulesOf } from './similar-groups.ts';
import { makeTemplate, type GroupTemplate } from './template-node.ts';
import { zonalFamilies } from './zonal-siblings.ts';

/** Two or more groups that differ in their zone alone. */
export interface SiblingFamily {
  /** By name. The first names the family. */
  readonly groups: readonly NodeGroup[];
  /** The last part of each group's zone. */
  readonly zoneOf: ReadonlyMap<NodeGroupId, string>;
}

type Seen = Pick<Observation, 'cloud' | 'cluster'>;

interface Known {
  readonly policy: ScaleUpPolicy;
  readonly daemonSets: Observation['cluster']['daemonSets'];
  readonly families: readonly SiblingFamily[];
}

const known = new WeakMap<readonly NodeGroup[], Known>();
const NO_ZONES: ReadonlySet<string> = new Set();

/** Families in the order of the names of their first groups. A group without siblings is in none. Throws like `preferenceRule`. */
export function siblingFamilies({ cloud, cluster }: Seen, policy: ScaleUpPolicy): readonly SiblingFamily[] {
  const last = known.get(cloud.groups);
  if (last?.policy === policy && last.daemonSets === cluster.daemonSets) return last.families;
  const families = findFamilies({ cloud, cluster }, policy);
  known.set(cloud.groups, { policy, daemonSets: cluster.daemonSets, families });
  return families;
}

function findFamilies({ cloud, cluster }: Seen, policy: ScaleUpPolicy): readonly SiblingFamily[] {
  const templates = cloud.groups.flatMap((group): readonly GroupTemplate[] => {
    // Atomic groups come and go as a whole, so nothing can keep them even.
    if (group.template?.zones.length !== 1 || isWhole(group)) return [];
    return [makeTemplate(group, group.template, cluster, NO_ZONES)];
  });
  if (templates.length < 2) return [];
  templates.sort((left, right) => compareText(left.group.id, right.group.id));
  return zonalFamilies(templates, similarityRulesOf(policy), preferenceRule(policy))
    .filter((family) => family.length > 1)
    .map((family) => ({
      groups: family.map(({ group }) => group),
      zoneOf: new Map(family.map(({ group, template }) => [group.id, zonePart(template.zones[0] ?? '')])),
    }));
}

/** The family of each group that has one. */
export function familyOfGroups(families: readonly SiblingFamily[]): ReadonlyMap<NodeGroupId, SiblingFamily> {
  return new Map(families.flatMap((family) => family.groups.map(({ id }) => [id, family] as const)));
}
