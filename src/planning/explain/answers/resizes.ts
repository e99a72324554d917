/** What keeps a pod from its new size, and which node would hold it. Whether the pod itself moves for it is decided with the room on nodes. */
import type { PendingResize, Pod } from '../../../domain/pod.ts';
import { PODS, type Resources } from '../../../domain/resources.ts';
import { compareText } from '../../../lib/comparison.ts';
import { shownText } from '../../../lib/shown-text.ts';
import { withAttachLimits } from '../../../scheduling/volumes/attachments.ts';
import { makeTemplate, templateRefusals } from '../../scale-up/groups/template-node.ts';
import { comesBackWith } from '../../facts/recreated-pods.ts';
import { groupPods } from '../../scale-up/pods/equivalence-groups.ts';
import { missingFor, mustLeave, podsOn } from '../../scale-down/room/room-asks.ts';
import type { ScaleUpInput } from '../../scale-up/plan-input.ts';
import { describeShortage, roomMade } from './daemon-waits.ts';
import { namePools } from '../pool-rows.ts';

type Input = Pick<ScaleUpInput, 'observation' | 'names' | 'state'>;

const MESSAGE_BYTES = 200;
const NO_ZONES: ReadonlySet<string> = new Set();

/** Complete sentences. */
export function describeResize(pod: Pod, resize: PendingResize, input: Input): string {
  const { kind, message, wanted } = resize;
  const short = shortages(pod, wanted, input);
  const why = short.length > 0 ? short.join(', ') : message === '' ? 'its kubelet gives no reason' : shownText(message, MESSAGE_BYTES);
  const state =
    kind === 'infeasible'
      ? `is infeasible: ${NEVER}`
      : isTooLarge(pod, wanted, input)
        ? `is deferred, but ${NEVER}`
        : 'is deferred until its node has room';
  const pools = poolsThatHold(pod, wanted, input);
  const helps =
    pools.length === 0
      ? 'No pool has nodes that hold that size.'
      : `A new node of ${namePools(pools)} holds that size: a replacement of the pod ${sizedByIts(pod, wanted, input)} can run there.`;
  return `Its resize in place ${state} (${why}${roomMade(pod.nodeName ?? '', input)}). ${helps}`;
}

function sizedByIts(pod: Pod, wanted: Resources, { observation: { cluster } }: Input): string {
  return comesBackWith(pod, wanted, cluster) ? 'gets it from its VerticalPodAutoscaler, and' : 'that requests it';
}

const NEVER = 'its node can never hold it';

function isTooLarge(pod: Pod, wanted: Resources, { observation: { cluster } }: Input): boolean {
  const node = cluster.nodes.get(pod.nodeName ?? '');
  if (node === undefined) return false;
  return mustLeave({ pod, node, wanted, others: podsOn(node, cluster.podsByNode).filter(({ uid }) => uid !== pod.uid) });
}

/** For each resource that its node is short of: what it needs, and what the node has for it. */
function shortages(pod: Pod, wanted: Resources, { observation: { cluster }, names }: Input): readonly string[] {
  const node = cluster.nodes.get(pod.nodeName ?? '');
  if (node === undefined) return [];
  const others = podsOn(node, cluster.podsByNode).filter(({ uid }) => uid !== pod.uid);
  return missingFor({ node, wanted, others })
    .filter(({ index }) => index !== PODS)
    .map((one) => `${describeShortage(one, names)} for it`);
}

/** Groups whose next node would take a pod of that size, by name. Rules about other pods are not looked at. */
function poolsThatHold(pod: Pod, wanted: Resources, input: Input): readonly string[] {
  const [kind] = groupPods([withSize(pod, wanted)], new Map());
  if (kind === undefined) return [];
  const { cloud, cluster } = input.observation;
  const holding = cloud.groups.filter((group) => {
    if (group.template === undefined) return false;
    const offered = makeTemplate(group, withAttachLimits(group.template, input.names), cluster, NO_ZONES);
    return templateRefusals(kind, offered, input.names).length === 0;
  });
  return holding.map(({ id }): string => id).sort(compareText);
}

function withSize(pod: Pod, requests: Resources): Pod {
  return { ...pod, nodeName: undefined, shape: { ...pod.shape, key: `${pod.shape.key} resized`, requests } };
}
