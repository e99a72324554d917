/**
 * Kubernetes objects from a file: a `List` as kubectl writes it, single objects, several documents. Only the form of the
 * fields that a decision reads is checked; everything else passes as it came.
 */
import * as z from 'zod';
import { AutoscalerError } from '../domain/errors.ts';
import { deviceSchemas } from './device-objects.ts';
import { readDocuments } from './documents.ts';
import { refuse } from './issue-sentence.ts';
import { quantity } from './pools-file.ts';

const MOST_OBJECTS = 500_000;

const strings = z.record(z.string(), z.string({ error: 'a text' }), { error: 'a map of texts' });
const quantities = z.record(z.string(), quantity, { error: 'a map of resources to quantities' });
const listOf = <Item extends z.ZodType>(item: Item, what: string) => z.array(item, { error: `a list of ${what}` });
const loose = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.looseObject(shape, { error: 'a map' });

const metadata = loose({
  name: z.string({ error: 'a name' }).min(1, { error: 'a name' }),
  namespace: z.string({ error: 'a text' }).optional(),
  uid: z.string({ error: 'a text' }).optional(),
  labels: strings.nullish(),
  annotations: strings.nullish(),
  creationTimestamp: z.string({ error: 'a time' }).nullish(),
  deletionTimestamp: z.string({ error: 'a time' }).nullish(),
  ownerReferences: listOf(loose({}), 'owners').nullish(),
});
const word = z.string({ error: 'a text' }).nullish();
const words = listOf(z.string({ error: 'a text' }), 'texts').nullish();
const count = z.int({ error: 'a whole number' }).nullish();
const resources = loose({ requests: quantities.nullish(), limits: quantities.nullish() });
const requirements = listOf(
  loose({
    key: z.string({ error: 'a text' }),
    operator: z.string({ error: 'a text' }),
    values: listOf(z.string({ error: 'a text' }), 'texts').nullish(),
  }),
  'requirements',
);
const selector = loose({ matchLabels: strings.nullish(), matchExpressions: requirements.nullish() });
const container = loose({
  name: z.string({ error: 'a text' }).optional(),
  resources: resources.nullish(),
  ports: listOf(loose({ hostPort: count, containerPort: count, protocol: word, hostIP: word }), 'ports').nullish(),
});
const affinityTerm = loose({
  topologyKey: z.string({ error: 'a text' }),
  labelSelector: selector.nullish(),
  namespaceSelector: selector.nullish(),
  namespaces: words,
  matchLabelKeys: words,
  mismatchLabelKeys: words,
});
const podAffinity = loose({ requiredDuringSchedulingIgnoredDuringExecution: listOf(affinityTerm, 'terms').nullish() });
const nodeTerm = loose({ matchExpressions: requirements.nullish(), matchFields: requirements.nullish() });
const required = loose({ nodeSelectorTerms: listOf(nodeTerm, 'terms') });

const claimSpec = loose({
  storageClassName: word,
  volumeName: word,
  accessModes: words,
  resources: resources.nullish(),
  selector: selector.nullish(),
});
const volume = loose({
  name: word,
  persistentVolumeClaim: loose({ claimName: z.string({ error: 'a name' }) }).nullish(),
  ephemeral: loose({ volumeClaimTemplate: loose({ spec: claimSpec }).nullish() }).nullish(),
});

const podSpec = loose({
  nodeName: z.string({ error: 'a text' }).optional(),
  containers: listOf(container, 'containers'),
  initContainers: listOf(container, 'containers').nullish(),
  nodeSelector: strings.nullish(),
  affinity: loose({
    nodeAffinity: loose({ requiredDuringSchedulingIgnoredDuringExecution: required.nullish() }).nullish(),
    podAffinity: podAffinity.nullish(),
    podAntiAffinity: podAffinity.nullish(),
  }).nullish(),
  tolerations: listOf(loose({ key: word, operator: word, value: word, effect: word }), 'tolerations').nullish(),
  topologySpreadConstraints: listOf(
    loose({
      topologyKey: z.string({ error: 'a text' }),
      maxSkew: count,
      minDomains: count,
      labelSelector: selector.nullish(),
      matchLabelKeys: words,
    }),
    'constraints',
  ).nullish(),
  priority: z.number({ error: 'a number' }).nullish(),
  overhead: quantities.nullish(),
  resources: resources.nullish(),
  volumes: listOf(volume, 'volumes').nullish(),
  resourceClaims: listOf(loose({ name: word, resourceClaimName: word, resourceClaimTemplateName: word }), 'claims').nullish(),
  schedulingGates: listOf(loose({}), 'gates').nullish(),
  terminationGracePeriodSeconds: count,
  priorityClassName: word,
  schedulerName: word,
  restartPolicy: word,
});
const conditions = listOf(loose({ type: z.string({ error: 'a text' }), status: z.string({ error: 'a text' }) }), 'conditions').nullish();
const template = loose({ metadata: loose({ labels: strings.nullish(), annotations: strings.nullish() }).nullish(), spec: podSpec });
const volumeClaimTemplates = listOf(loose({ metadata, spec: claimSpec }), 'claim templates').nullish();
const replicas = z.int({ error: 'a whole number' }).min(0, { error: 'a whole number' }).nullish();
const workload = loose({ metadata, spec: loose({ replicas, template: template.nullish(), volumeClaimTemplates }).nullish() });

const SCHEMAS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>(
  Object.entries({
    Pod: loose({ metadata, spec: podSpec, status: loose({ phase: z.string({ error: 'a text' }).optional(), conditions }).nullish() }),
    Node: loose({
      metadata,
      spec: loose({
        taints: listOf(loose({ key: z.string({ error: 'a text' }), effect: z.string({ error: 'a text' }) }), 'taints').nullish(),
      }).nullish(),
      status: loose({ capacity: quantities.nullish(), allocatable: quantities, conditions }),
    }),
    DaemonSet: workload,
    Deployment: workload,
    ReplicaSet: workload,
    StatefulSet: workload,
    ReplicationController: loose({ metadata, spec: loose({ replicas }).nullish() }),
    Job: loose({ metadata }),
    PodDisruptionBudget: loose({
      metadata,
      spec: loose({ selector: selector.nullish() }).nullish(),
      status: loose({ disruptionsAllowed: count, expectedPods: count, currentHealthy: count, desiredHealthy: count }).nullish(),
    }),
    PersistentVolumeClaim: loose({ metadata, spec: claimSpec, status: loose({ phase: word }).nullish() }),
    PersistentVolume: loose({
      metadata,
      spec: loose({
        storageClassName: word,
        accessModes: words,
        capacity: quantities.nullish(),
        claimRef: loose({ namespace: word, name: word }).nullish(),
        csi: loose({ driver: word }).nullish(),
        nodeAffinity: loose({ required: required.nullish() }).nullish(),
      }),
      status: loose({ phase: word }).nullish(),
    }),
    StorageClass: loose({
      metadata,
      provisioner: z.string({ error: 'a text' }),
      volumeBindingMode: word,
      allowedTopologies: listOf(
        loose({ matchLabelExpressions: listOf(loose({ key: z.string({ error: 'a text' }), values: words }), 'expressions').nullish() }),
        'terms',
      ).nullish(),
    }),
    CSINode: loose({
      metadata,
      spec: loose({
        drivers: listOf(loose({ name: z.string({ error: 'a name' }), allocatable: loose({ count }).nullish() }), 'drivers').nullish(),
      }).nullish(),
    }),
    Namespace: loose({ metadata }),
    ...deviceSchemas(metadata),
    PriorityClass: loose({ metadata, value: z.number({ error: 'a number' }) }),
  }),
);

export interface FileObject {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** Every object of the file, nulls left out as the API leaves them. @throws AutoscalerError `config`: one sentence with object and field. */
export function readObjects(file: string, text: string, mostMib: number): readonly FileObject[] {
  const documents = readDocuments(file, text, mostMib);
  // What a failed kubectl leaves behind is no cluster without nodes.
  if (documents.length === 0) throw new AutoscalerError({ kind: 'config' }, `${file} is empty; accepted are Kubernetes objects.`);
  const objects = documents.flatMap((document) => unfolded(file, document));
  if (objects.length > MOST_OBJECTS) {
    throw new AutoscalerError({ kind: 'config' }, `${file} holds ${objects.length} objects; accepted are ${MOST_OBJECTS} at most.`);
  }
  return objects.map((object, index) => checked(file, object, index));
}

function unfolded(file: string, document: unknown): readonly unknown[] {
  if (Array.isArray(document)) return document;
  if (typeof document !== 'object' || document === null)
    throw new AutoscalerError({ kind: 'config' }, `${file} does not hold Kubernetes objects.`);
  if (!('items' in document)) return [document];
  if (Array.isArray(document.items)) return document.items;
  throw new AutoscalerError({ kind: 'config' }, `${file}: List: items is not a list of objects.`);
}

function checked(file: string, object: unknown, index: number): FileObject {
  const kind = typeof object === 'object' && object !== null && 'kind' in object ? object.kind : undefined;
  if (typeof kind !== 'string')
    throw new AutoscalerError({ kind: 'config' }, `${file}: object ${index}: kind is missing; accepted is a Kubernetes object.`);
  const parsed = SCHEMAS.get(kind)?.safeParse(object);
  if (parsed?.success === false) return refuse(`${file}: ${kind} ${nameOf(object, index)}`, object, parsed.error.issues);
  return { ...(withoutNulls(object) as object), kind };
}

function nameOf(object: unknown, index: number): string {
  const found = z.looseObject({ metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }) }).safeParse(object);
  if (!found.success) return String(index);
  const { name, namespace } = found.data.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** `null` in a manifest means "not set". */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== null)
      .map(([key, part]) => [key, withoutNulls(part)]),
  );
}
