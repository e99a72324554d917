/**
 * What stands for a pod or a node that the API server returned in another form than documented. Nothing is guessed: such a pod keeps its
 * node, and such a node is neither removed nor counted as room.
 */
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import { defined } from '../../lib/defined.ts';
import type { MetadataJson, ObjectJson } from '../api/core-json.ts';
import { projectNode, type NodeProjection } from './node.ts';
import { projectPod, type PodProjection } from './pod.ts';

/** A pod without a controller on its node: it blocks the node's removal. It never causes an increase. */
export function projectUnreadablePod(object: ObjectJson, before: Pod | undefined, shared: PodProjection): Pod {
  const nodeName = textOf(partOf(object, 'spec')['nodeName']);
  if (before !== undefined && before.nodeName === nodeName) return before;
  return projectPod({ metadata: identityOf(object), spec: defined({ nodeName }), status: { phase: 'Running' } }, shared);
}

/** The node as it was last read, or else one without room that is not ready; not removed in both cases. */
export function projectUnreadableNode(object: ObjectJson, reason: string, before: Node | undefined, shared: NodeProjection): Node {
  const providerID = textOf(partOf(object, 'spec')['providerID']);
  const node = before ?? projectNode({ metadata: identityOf(object), spec: defined({ providerID }) }, shared);
  const { readiness } = node;
  return {
    ...node,
    scaleDownDisabled: true,
    disabledBecause: reason,
    ...(before === undefined ? { readiness: { ...readiness, ready: false, reason } } : {}),
  };
}

function identityOf(object: ObjectJson): MetadataJson {
  const { name, namespace, uid, creationTimestamp } = partOf(object, 'metadata');
  return defined({ name: textOf(name), namespace: textOf(namespace), uid: textOf(uid), creationTimestamp: textOf(creationTimestamp) });
}

type Json = Readonly<Record<string, unknown>>;

function partOf(object: ObjectJson, name: 'metadata' | 'spec'): Json {
  const part: unknown = (object as Json)[name];
  return typeof part === 'object' && part !== null ? (part as Json) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
