/** The pods of a question that start together: copies of one of its pods, and their group. */
import type { GangQuestion } from '../../differential/gang-case.ts';
import type { ParityObject } from '../../differential/parity-case.ts';
import type { Json } from '../../../world/simulator/real-control-plane/api-client.ts';
import type { GangDraft } from './random-cases.ts';
import type { Verdict } from './refusing-extender.ts';

/** The class of pods that start together: from 1.37 on they would preempt others, which no question is about. */
export const GANG_PRIORITY = 'parity-gang';

/** The scheduler may not have forgotten the last group of a name. */
export function gangOf(member: ParityObject, { size, minCount }: GangDraft, name: string): GangQuestion {
  const { namespace = 'default' } = member.metadata;
  const spec = { ...(member['spec'] as Json), priorityClassName: GANG_PRIORITY, schedulingGroup: { podGroupName: name } };
  return {
    group: {
      kind: 'PodGroup',
      metadata: { name, namespace },
      spec: { schedulingPolicy: { gang: { minCount } }, priorityClassName: GANG_PRIORITY },
    },
    pods: Array.from({ length: size }, (_, at) => ({ ...member, metadata: { ...member.metadata, name: `${name}-${at}` }, spec })),
  };
}

/** The first pod that a node lets in that is not the sentinel's. */
export function memberOf(
  { members }: GangDraft,
  asked: readonly { readonly pod: ParityObject; readonly verdict: Verdict }[],
  sentinel: string,
): ParityObject | undefined {
  const isPlace = (node: string): boolean => !node.startsWith(sentinel);
  const letIn = new Set(asked.filter(({ verdict }) => verdict.nodes.some(isPlace)).map(({ pod: { metadata } }) => metadata.name));
  return members.find(({ metadata }) => letIn.has(metadata.name)) ?? members[0];
}
