/**
 * One event on each pod and node that keeps a node from being removed with a value of `karpenter.sh/do-not-disrupt` that cannot be read, so
 * that its owner learns that it protects without end.
 */
import { isProtectionUnreadable, protectionText, type Protection } from '../../domain/annotations.ts';
import { podName } from '../../domain/ids.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import type { ClusterView } from '../../domain/observation.ts';
import type { UnremovableNode } from '../../domain/plan.ts';
import type { AutoscalerEvent, EventRecorder } from '../../domain/ports/records.ts';

/** The most events of one loop; the others follow in the next ones. */
const MOST_PER_LOOP = 20;

export function unreadableProtectionEvents(events: Pick<EventRecorder, 'record'>): LoopListener {
  let recorded: ReadonlySet<string> = new Set();
  return ({ observation, scaleDown }) => {
    if (observation === undefined || scaleDown === undefined || scaleDown.inhibited !== undefined) return;
    const found = scaleDown.kept.flatMap((entry) => unreadableOf(entry, observation.cluster) ?? []);
    const due = found.filter(({ subject }) => !recorded.has(subject.uid)).slice(0, MOST_PER_LOOP);
    for (const { subject, protection } of due) events.record(eventOf(subject, protection));
    const known = found.filter(({ subject }) => recorded.has(subject.uid));
    recorded = new Set([...known, ...due].map(({ subject }) => subject.uid));
  };
}

type Subject = AutoscalerEvent['subject'] & { readonly uid: string };

interface Unreadable {
  readonly subject: Subject;
  readonly protection: Protection;
}

/** What keeps the node, if that is such a value. */
function unreadableOf({ node: name, reason, blocker }: UnremovableNode, cluster: ClusterView): Unreadable | undefined {
  if (reason === 'ScaleDownDisabledAnnotation') {
    const node = cluster.nodes.get(name);
    if (node === undefined || !isProtectionUnreadable(node)) return undefined;
    return { subject: { kind: 'Node', name, uid: node.uid }, protection: node };
  }
  if (blocker?.reason !== 'DoNotDisruptAnnotation') return undefined;
  const pod = cluster.podsByNode.get(name)?.find((each) => podName(each) === blocker.pod);
  const protection = pod?.annotations.protection;
  if (pod === undefined || protection === undefined || !isProtectionUnreadable(protection)) return undefined;
  return { subject: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid }, protection };
}

function eventOf(subject: Subject, protection: Protection): AutoscalerEvent {
  const message = `Its node is not removed because of ${protectionText(protection)}`;
  return { subject, type: 'Warning', reason: 'DoNotDisruptUnreadable', message };
}
