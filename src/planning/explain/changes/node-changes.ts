/** Changes of one node or its instance. */
import type { InstanceKey, NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Node } from '../../../domain/node.ts';
import { shell } from '../../../lib/shown-text.ts';
import { type FixStep, kind, type World } from './change.ts';
import { groupNamed, withCluster, withGroup } from './edits.ts';
import { resourceGroupOf } from './pool-commands.ts';

interface OfNode {
  readonly node: NodeName;
}

interface Protection extends OfNode {
  readonly group: NodeGroupId;
  readonly instance: InstanceKey;
  readonly from: 'scale-in' | 'actions';
}

export const NODE_CHANGES = {
  'remove-node-annotation': kind<{ readonly key: string } & OfNode>({
    describe: ({ key }) => `remove the annotation ${key} from the node`,
    steps: ({ node, key }) => [
      {
        where: `node ${node}`,
        command: shell`kubectl annotate node ${node} ${key}-`,
        warning: 'the annotation protects the node and its pods from being interrupted',
      },
    ],
    apply: (world, { node }) => withNode(world, node, (rest) => ({ ...rest, scaleDownDisabled: false, disabledBecause: '' })),
  }),
  'uncordon-node': kind<OfNode>({
    describe: ({ node }) => `uncordon node ${node}, which has room for its pods`,
    steps: ({ node }) => [
      {
        where: `node ${node}`,
        command: shell`kubectl uncordon ${node}`,
        warning: 'new pods are placed on the node from then on; it may be cordoned for maintenance',
      },
    ],
    apply: (world, { node }) => withNode(world, node, (rest) => ({ ...rest, unschedulable: false })),
  }),
  'unprotect-instance': kind<Protection>({
    describe: ({ from }) => `remove the protection of its instance from ${from === 'scale-in' ? 'scale-in' : 'scale set actions'}`,
    steps: (change, input) => [protectionStep(change, groupNamed(input, change.group))],
    apply: (world, change) => withGroup(world, change.group, (group) => withoutProtection(group, change)),
  }),
};

function withNode(world: World, name: NodeName, edit: (node: Node) => Node): World {
  return withCluster(world, ({ nodes }) => ({ nodes: new Map([...nodes].map(([key, node]) => [key, key === name ? edit(node) : node])) }));
}

function withoutProtection(group: NodeGroup, { instance }: Protection): NodeGroup {
  const instances = group.instances?.map((each) => (each.key === instance ? { ...each, protectedFrom: undefined } : each));
  return { ...group, instances };
}

function protectionStep({ group: id, instance, from }: Protection, group: NodeGroup | undefined): FixStep {
  const { instanceId = 'INSTANCE' } = group?.instances?.find(({ key }) => key === instance) ?? {};
  const flag = from === 'scale-in' ? '--protect-from-scale-in' : '--protect-from-scale-set-actions';
  const resourceGroup = group === undefined ? 'NODE_RESOURCE_GROUP' : resourceGroupOf(group);
  return {
    where: `instance ${instanceId} of scale set ${id}`,
    command: shell`az vmss update -g ${resourceGroup} -n ${id} --instance-id ${instanceId} ${flag} false`,
    warning: 'the protection keeps the instance, and what is stored on it, from being deleted',
  };
}
