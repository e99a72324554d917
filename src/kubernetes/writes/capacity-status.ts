/** Writes statuses of `autoscaling.x-k8s.io` objects as merge patches that name the version they were made from. */
import type { CapacityKind, CapacityObjectRef, CapacityStatus } from '../../domain/capacity-objects.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import type { CapacityObjectWriter } from '../../domain/ports/cluster-writes.ts';
import type { Rest } from '../api/rest.ts';
import { defined } from '../../lib/defined.ts';
import { isRecord } from '../../lib/json.ts';

const MERGE_PATCH = 'application/merge-patch+json';

/** Version and plural name, as upstream serves them. */
const CAPACITY_PATHS: Readonly<Record<CapacityKind, { readonly version: string; readonly plural: string }>> = {
  CapacityQuota: { version: 'v1beta1', plural: 'capacityquotas' },
  CapacityBuffer: { version: 'v1beta1', plural: 'capacitybuffers' },
  ProvisioningRequest: { version: 'v1', plural: 'provisioningrequests' },
};

/** The path that lists all objects of the kind. */
export function capacityPath(kind: CapacityKind): string {
  const { version, plural } = CAPACITY_PATHS[kind];
  return `/apis/autoscaling.x-k8s.io/${version}/${plural}`;
}

export function createCapacityWriter(rest: Pick<Rest, 'json'>): CapacityObjectWriter {
  return {
    writeStatus: async (ref, { before, after }, signal) => {
      const metadata = { resourceVersion: ref.version };
      const body = { metadata, status: patchOf(statusJson(before), statusJson(after)) };
      const path = `${pathOf(ref)}/status`;
      await rest.json({ method: 'PATCH', path, body, contentType: MERGE_PATCH, operation: 'capacity-status', ignoresAnswer: true }, signal);
    },
    remove: async (ref, signal) => {
      const body = { preconditions: { uid: ref.uid, resourceVersion: ref.version } };
      try {
        await rest.json({ method: 'DELETE', path: pathOf(ref), body, operation: 'capacity-delete', ignoresAnswer: true }, signal);
      } catch (thrown) {
        if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
      }
    },
  };
}

function pathOf({ kind, namespace, name }: CapacityObjectRef): string {
  const { version, plural } = CAPACITY_PATHS[kind];
  const place = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/autoscaling.x-k8s.io/${version}${place}/${plural}/${encodeURIComponent(name)}`;
}

type Fields = Readonly<Record<string, unknown>>;

function statusJson(status: CapacityStatus): Fields {
  const conditions = status.conditions.map(({ sinceMs, ...rest }) => ({
    ...rest,
    lastTransitionTime: new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z'),
  }));
  return {
    conditions,
    ...(status.used === undefined ? {} : { used: { resources: texts(status.used) } }),
    ...defined({ replicas: status.replicas }),
    ...(status.podTemplate === undefined ? {} : { podTemplateRef: { name: status.podTemplate } }),
    ...defined({ podTemplateGeneration: status.podTemplateGeneration, provisioningStrategy: status.provisioningStrategy }),
  };
}

/** Quantities are texts in the API. */
function texts(amounts: Readonly<Record<string, number>>): Fields {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)]));
}

/** A removed field must be set to null: a merge patch keeps fields that it does not name. */
function patchOf(before: Fields, after: Fields): Fields {
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const kept = Object.entries(after).map(([key, value]) => {
    const old = before[key];
    return [key, isRecord(value) && isRecord(old) ? patchOf(old, value) : value] as const;
  });
  return { ...Object.fromEntries(kept), ...Object.fromEntries(gone.map((key) => [key, null])) };
}
