/**
 * Changes taints and cordons. Each write is a PUT of the node just read, with its resourceVersion. The whole JSON body
 * is sent back, so no field is lost, and a change by another writer in between is a conflict instead of an overwrite.
 */
import { asAutoscalerError } from '../../lib/errors.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { Taint } from '../../domain/taints.ts';
import type { NodeTainter } from '../../domain/ports/cluster-writes.ts';
import type { NodeJson, TaintJson } from '../api/core-json.ts';
import { retrying, type Retry } from '../api/backoff.ts';
import type { Rest } from '../api/rest.ts';

interface TainterDeps {
  readonly rest: Rest;
  readonly retry: Retry;
}

/** What a node's spec becomes; undefined if it needs no change. */
type Change = (spec: NonNullable<NodeJson['spec']>) => NonNullable<NodeJson['spec']> | undefined;

export function createNodeTainter(deps: TainterDeps): NodeTainter {
  return {
    taint: async (node, taint, { cordon }, signal) => {
      let answerLost = false;
      const attempt = async (): Promise<{ readonly uncordonLater: boolean }> => {
        let cordons = false;
        const change: Change = (spec) => {
          // Taint and cordon are set in one write. After a lost answer, a cordon beside our taint is ours; one without
          // it was set by a person.
          const isOurs = answerLost && carries(spec, taint);
          cordons = cordon && (spec.unschedulable !== true || isOurs);
          return withTaint(spec, taint, cordon);
        };
        try {
          await changeNode(deps.rest, { node, operation: 'taint', change }, signal);
        } catch (thrown) {
          const { detail } = asAutoscalerError(thrown);
          if (cordons && detail.kind === 'unavailable' && detail.effect === 'unknown') answerLost = true;
          throw thrown;
        }
        return { uncordonLater: cordons };
      };
      return retrying(deps.retry, attempt, signal);
    },
    untaint: async (node, key, { uncordon }, signal) => {
      const attempt = (): Promise<void> =>
        changeNode(deps.rest, { node, operation: 'untaint', change: (spec) => withoutTaint(spec, key, uncordon) }, signal);
      try {
        await retrying(deps.retry, attempt, signal);
      } catch (thrown) {
        if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
      }
    },
  };
}

interface NodeChange {
  readonly node: NodeName;
  readonly operation: string;
  readonly change: Change;
}

async function changeNode(rest: Rest, { node, operation, change }: NodeChange, signal: AbortSignal): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const present = (await rest.json({ method: 'GET', path }, signal)) as NodeJson;
  const spec = change(present.spec ?? {});
  if (spec === undefined) return;
  await rest.json({ method: 'PUT', path, body: { ...present, spec }, operation }, signal);
}

/** Whether the node has the taint, value included. */
function carries(spec: NonNullable<NodeJson['spec']>, taint: Taint): boolean {
  return (spec.taints ?? []).some(
    ({ key, effect, value }) => key === taint.key && effect === taint.effect && (value ?? '') === taint.value,
  );
}

function withTaint(spec: NonNullable<NodeJson['spec']>, taint: Taint, cordon: boolean): ReturnType<Change> {
  const isSame = (other: TaintJson): boolean => other.key === taint.key && other.effect === taint.effect;
  const taints = spec.taints ?? [];
  const cordoned = !cordon || spec.unschedulable === true;
  if (cordoned && carries(spec, taint)) return undefined;
  const wanted: TaintJson = { key: taint.key, value: taint.value, effect: taint.effect };
  return { ...spec, taints: [...taints.filter((other) => !isSame(other)), wanted], ...(cordon ? { unschedulable: true } : {}) };
}

function withoutTaint(spec: NonNullable<NodeJson['spec']>, key: string, uncordon: boolean): ReturnType<Change> {
  const taints = spec.taints ?? [];
  const kept = taints.filter((taint) => taint.key !== key);
  const uncordons = uncordon && spec.unschedulable === true;
  if (kept.length === taints.length && !uncordons) return undefined;
  const { unschedulable, ...rest } = spec;
  return { ...rest, taints: kept, ...(unschedulable === undefined || uncordons ? {} : { unschedulable }) };
}
