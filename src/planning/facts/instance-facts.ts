/**
 * Facts of the instances of a group and of the nodes that run on instances, found once: the view keeps its lists while nothing in them
 * changed. Must not know what follows from a fact.
 */
import type { InstanceKey, NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { CloudView } from '../../domain/observation.ts';

/** Instances of one group that are not simply running. */
interface InstanceListSummary {
  readonly deleting: readonly Instance[];
  readonly creating: readonly Instance[];
  readonly deallocated: readonly Instance[];
  readonly guarded: readonly Instance[];
}

const NO_INSTANCES: readonly Instance[] = [];
const lists = new WeakMap<readonly Instance[], InstanceListSummary>();

export function instanceListFacts({ instances = NO_INSTANCES }: Pick<NodeGroup, 'instances'>): InstanceListSummary {
  const known = lists.get(instances) ?? findFacts(instances);
  lists.set(instances, known);
  return known;
}

function findFacts(instances: readonly Instance[]): InstanceListSummary {
  const inState = (wanted: Instance['state']): readonly Instance[] => instances.filter(({ state }) => state === wanted);
  return {
    deleting: inState('deleting'),
    creating: inState('creating'),
    deallocated: inState('deallocated'),
    guarded: instances.filter(({ protectedFrom }) => protectedFrom !== undefined),
  };
}

/** Which nodes run on which instances. */
interface MembershipSummary {
  /** In the order of the view. */
  readonly nodesByGroup: ReadonlyMap<NodeGroupId, readonly NodeName[]>;
  /** Of a group, on no known instance. */
  readonly unlisted: readonly NodeName[];
  /** The instances that have a node. */
  readonly joined: ReadonlySet<InstanceKey>;
  /** Those that more than one node names as its own. */
  readonly disputed: ReadonlySet<InstanceKey>;
}

type Membership = Pick<CloudView, 'groupOfNode' | 'instanceOfNode'>;

const memberships = new WeakMap<
  Membership['groupOfNode'],
  { readonly of: Membership['instanceOfNode']; readonly facts: MembershipSummary }
>();

export function membershipFacts({ groupOfNode, instanceOfNode }: Membership): MembershipSummary {
  const known = memberships.get(groupOfNode);
  if (known?.of === instanceOfNode) return known.facts;
  const unlisted = [...groupOfNode.keys()].filter((name) => !instanceOfNode.has(name));
  const facts = { nodesByGroup: nodesByGroup(groupOfNode), unlisted, ...joinedInstances(instanceOfNode) };
  memberships.set(groupOfNode, { of: instanceOfNode, facts });
  return facts;
}

function nodesByGroup(groupOfNode: Membership['groupOfNode']): MembershipSummary['nodesByGroup'] {
  const groups = new Map<NodeGroupId, NodeName[]>();
  for (const [name, group] of groupOfNode) {
    const nodes = groups.get(group);
    if (nodes === undefined) groups.set(group, [name]);
    else nodes.push(name);
  }
  return groups;
}

function joinedInstances(instanceOfNode: Membership['instanceOfNode']): Pick<MembershipSummary, 'joined' | 'disputed'> {
  const [joined, disputed] = [new Set<InstanceKey>(), new Set<InstanceKey>()];
  for (const key of instanceOfNode.values()) {
    if (joined.has(key)) disputed.add(key);
    joined.add(key);
  }
  return { joined, disputed };
}

const nodes = new WeakMap<Membership['instanceOfNode'], ReadonlyMap<InstanceKey, NodeName>>();

/** The node that runs on each instance. Of those that name the same instance, the last. */
export function nodeOfInstance({ instanceOfNode }: Pick<CloudView, 'instanceOfNode'>): ReadonlyMap<InstanceKey, NodeName> {
  const known = nodes.get(instanceOfNode) ?? new Map([...instanceOfNode].map(([name, key]) => [key, name]));
  nodes.set(instanceOfNode, known);
  return known;
}

const absents = new WeakMap<readonly Instance[], { readonly joined: ReadonlySet<InstanceKey>; readonly absent: readonly Instance[] }>();

/** The instances of the group that no node runs on, in the order of the view. */
export function absentInstances({ instances = NO_INSTANCES }: Pick<NodeGroup, 'instances'>, cloud: Membership): readonly Instance[] {
  const { joined } = membershipFacts(cloud);
  const known = absents.get(instances);
  if (known?.joined === joined) return known.absent;
  const absent = instances.filter(({ key }) => !joined.has(key));
  absents.set(instances, { joined, absent });
  return absent;
}
