/**
 * Changes taints and cordons. Each write is a PUT of the node just read, with its resourceVersion. The whole JSON body
 * is sent back, so no field is lost, and a change by another writer in between is a conflict instead of an overwrite.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { Taint, TaintNote, TaintOwner } from '../../domain/taints.ts';
import type { NodeTainter } from '../../domain/ports/cluster-writes.ts';
import type { NodeJson, TaintJson } from '../api/core-json.ts';
import { retrying, type Retry } from '../api/backoff.ts';
import type { Rest } from '../api/rest.ts';

interface TainterDeps {
  readonly rest: Rest;
  readonly retry: Retry;
}

type Spec = NonNullable<NodeJson['spec']>;

/** What a node's spec becomes; undefined if it needs no change. */
type Change = (spec: Spec) => Spec | undefined;

export function createNodeTainter(deps: TainterDeps): NodeTainter {
  return {
    taint: async (node, taint, { cordon, owner, note }, signal) => {
      let answerLost = false;
      const attempt = async (): Promise<{ readonly uncordonLater: boolean; readonly heldBy?: string }> => {
        let cordons = false;
        const change: Change = (spec) => {
          // Taint and cordon are set in one write. After a lost answer, a cordon beside our taint is ours; one without
          // it was set by a person.
          const isOurs = answerLost && carries(spec, taint);
          cordons = cordon && (spec.unschedulable !== true || isOurs);
          return withTaint(spec, taint, cordon);
        };
        let heldBy: string | undefined;
        try {
          ({ heldBy } = await changeNode(deps.rest, { node, operation: 'taint', change, owner, note }, signal));
        } catch (thrown) {
          const { detail } = asAutoscalerError(thrown);
          if (cordons && detail.kind === 'unavailable' && detail.effect === 'unknown') answerLost = true;
          throw thrown;
        }
        return heldBy === undefined ? { uncordonLater: cordons } : { uncordonLater: false, heldBy };
      };
      return retrying(deps.retry, attempt, signal);
    },
    untaint: async (node, key, { uncordon, owner }, signal) => {
      const attempt = (): Promise<Changed> =>
        changeNode(
          deps.rest,
          { node, operation: 'untaint', change: (spec) => withoutTaint(spec, key, uncordon), owner, note: undefined },
          signal,
        );
      try {
        return (await retrying(deps.retry, attempt, signal)).specChanged;
      } catch (thrown) {
        if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
        return false;
      }
    },
  };
}

interface NodeChange {
  readonly node: NodeName;
  readonly operation: 'taint' | 'untaint';
  readonly change: Change;
  readonly owner: TaintOwner | undefined;
  readonly note: TaintNote | undefined;
}

interface Changed {
  /** The other writer whose taints are there: nothing was written. */
  readonly heldBy: string | undefined;
  readonly specChanged: boolean;
}

async function changeNode(rest: Rest, { node, operation, change, owner, note }: NodeChange, signal: AbortSignal): Promise<Changed> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const present = (await rest.json({ method: 'GET', path }, signal)) as NodeJson;
  const writer = owner === undefined ? undefined : otherWriter(present, owner, operation);
  // guard: a taint is written only where there is none of another writer, and removed only by its owner
  if (writer !== undefined) return { heldBy: writer, specChanged: false };
  const spec = change(present.spec ?? {});
  const next = { ...present, spec: spec ?? present.spec ?? {} };
  const owned = owner === undefined ? undefined : annotationsAfter(next, owner, operation);
  const annotations = note === undefined ? owned : { ...(owned ?? next.metadata?.annotations), [note.annotation]: note.value };
  const changed = { heldBy: undefined, specChanged: spec !== undefined };
  if (spec === undefined && annotations === undefined) return changed;
  const body = annotations === undefined ? next : { ...next, metadata: { ...next.metadata, annotations } };
  await rest.json({ method: 'PUT', path, body, operation, ignoresAnswer: true }, signal);
  return changed;
}

/**
 * Whose taints these are, if not the owner's. A taint is only added where there is none of another writer, and only removed while the
 * annotation says what the caller knows.
 */
function otherWriter({ metadata, spec }: NodeJson, owner: TaintOwner, operation: NodeChange['operation']): string | undefined {
  const writer = metadata?.annotations?.[owner.annotation] ?? '';
  const isOther = operation === 'untaint' || hasAny(spec, owner.covers) ? writer !== owner.value : false;
  return isOther ? writer : undefined;
}

/** The annotation is on the node as long as one of the taints. undefined: the annotations stay as they are. */
function annotationsAfter(
  { metadata, spec }: NodeJson,
  { annotation, value, covers }: TaintOwner,
  operation: NodeChange['operation'],
): Readonly<Record<string, string>> | undefined {
  const { [annotation]: writer, ...others } = metadata?.annotations ?? {};
  if (operation === 'taint') return writer === value ? undefined : { ...others, [annotation]: value };
  return writer === undefined || hasAny(spec, covers) ? undefined : others;
}

function hasAny(spec: NodeJson['spec'], keys: readonly string[]): boolean {
  return (spec?.taints ?? []).some(({ key = '' }) => keys.includes(key));
}

/** Whether the node has the taint, value included. */
function carries(spec: Spec, taint: Taint): boolean {
  return (spec.taints ?? []).some(
    ({ key, effect, value }) => key === taint.key && effect === taint.effect && (value ?? '') === taint.value,
  );
}

function withTaint(spec: Spec, taint: Taint, cordon: boolean): ReturnType<Change> {
  const isSame = (other: TaintJson): boolean => other.key === taint.key && other.effect === taint.effect;
  const taints = spec.taints ?? [];
  const cordoned = !cordon || spec.unschedulable === true;
  if (cordoned && carries(spec, taint)) return undefined;
  const wanted: TaintJson = { key: taint.key, value: taint.value, effect: taint.effect };
  return { ...spec, taints: [...taints.filter((other) => !isSame(other)), wanted], ...(cordon ? { unschedulable: true } : {}) };
}

/** Without the taint, a cordon is not known to be ours: who took the taint off may have cordoned the node since. */
function withoutTaint(spec: Spec, key: string, uncordon: boolean): ReturnType<Change> {
  const taints = spec.taints ?? [];
  const kept = taints.filter((taint) => taint.key !== key);
  // guard: a node without the taint of its removal is not uncordoned
  if (kept.length === taints.length) return undefined;
  const uncordons = uncordon && spec.unschedulable === true;
  const { unschedulable, ...rest } = spec;
  return { ...rest, taints: kept, ...(unschedulable === undefined || uncordons ? {} : { unschedulable }) };
}
