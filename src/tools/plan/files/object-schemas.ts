/** Schemas of the Kubernetes objects in a file. They check only fields that a decision reads. */
import * as z from 'zod';
import { deviceSchemas } from './device-object-schemas.ts';
import { quantity } from './pools-file.ts';

const strings = z.record(z.string(), z.string({ error: 'a text' }), { error: 'a map of texts' });
const quantities = z.record(z.string(), quantity, { error: 'a map of resources to quantities' });
const listOf = <Item extends z.ZodType>(item: Item, what: string) => z.array(item, { error: `a list of ${what}` });
const loose = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.looseObject(shape, { error: 'a map' });

const TIME = 'a time such as 2026-11-21T10:00:00Z';
const time = z
  .string({ error: TIME })
  .refine((text) => !Number.isNaN(Date.parse(text)), { error: TIME })
  .nullish();
const flag = z.boolean({ error: 'true or false' }).nullish();
const metadata = loose({
  name: z.string({ error: 'a name' }).min(1, { error: 'a name' }),
  namespace: z.string({ error: 'a text' }).optional(),
  uid: z.string({ error: 'a text' }).optional(),
  labels: strings.nullish(),
  annotations: strings.nullish(),
  creationTimestamp: time,
  deletionTimestamp: time,
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
  restartPolicyRules: listOf(loose({ action: word }), 'rules').nullish(),
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
  azureDisk: loose({ diskName: word, diskURI: word }).nullish(),
  iscsi: loose({ iqn: word, readOnly: flag }).nullish(),
  rbd: loose({ monitors: words, pool: word, image: word, readOnly: flag }).nullish(),
  gcePersistentDisk: loose({ pdName: word, readOnly: flag }).nullish(),
  awsElasticBlockStore: loose({ volumeID: word, readOnly: flag }).nullish(),
});

const tolerations = listOf(loose({ key: word, operator: word, value: word, effect: word }), 'tolerations').nullish();
const podSpec = loose({
  nodeName: z.string({ error: 'a text' }).optional(),
  hostNetwork: flag,
  hostUsers: flag,
  schedulingGroup: loose({ podGroupName: word }).nullish(),
  workloadRef: loose({ name: word, podGroup: word, podGroupReplicaKey: word }).nullish(),
  containers: listOf(container, 'containers'),
  initContainers: listOf(container, 'containers').nullish(),
  nodeSelector: strings.nullish(),
  affinity: loose({
    nodeAffinity: loose({ requiredDuringSchedulingIgnoredDuringExecution: required.nullish() }).nullish(),
    podAffinity: podAffinity.nullish(),
    podAntiAffinity: podAffinity.nullish(),
  }).nullish(),
  tolerations,
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
  runtimeClassName: word,
  schedulerName: word,
  restartPolicy: word,
});
const conditions = listOf(loose({ type: z.string({ error: 'a text' }), status: z.string({ error: 'a text' }) }), 'conditions').nullish();
const template = loose({ metadata: loose({ labels: strings.nullish(), annotations: strings.nullish() }).nullish(), spec: podSpec });
const volumeClaimTemplates = listOf(loose({ metadata, spec: claimSpec }), 'claim templates').nullish();
const replicas = z.int({ error: 'a whole number' }).min(0, { error: 'a whole number' }).nullish();
const job = loose({ parallelism: replicas, completions: replicas, suspend: flag, template: template.nullish() });
const workload = loose({ metadata, spec: loose({ replicas, template: template.nullish(), volumeClaimTemplates }).nullish() });

const groupPolicy = loose({ gang: loose({ minCount: count }).nullish() }).nullish();

/** Schemas by kind. */
export const OBJECT_SCHEMAS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>(
  Object.entries({
    Pod: loose({ metadata, spec: podSpec, status: loose({ phase: z.string({ error: 'a text' }).optional(), conditions }).nullish() }),
    Node: loose({
      metadata,
      spec: loose({
        unschedulable: flag,
        taints: listOf(
          loose({ key: z.string({ error: 'a text' }), value: word, effect: z.string({ error: 'a text' }) }),
          'taints',
        ).nullish(),
      }).nullish(),
      status: loose({ capacity: quantities.nullish(), allocatable: quantities.nullish(), conditions, declaredFeatures: words }).refine(
        // Without allocatable, the API server uses the capacity.
        ({ capacity, allocatable }) => (allocatable ?? capacity) !== undefined,
        { error: 'a map of resources to quantities', path: ['allocatable'] },
      ),
    }),
    DaemonSet: workload,
    Deployment: workload,
    ReplicaSet: workload,
    StatefulSet: workload,
    ReplicationController: workload,
    Job: loose({ metadata, spec: job.nullish() }),
    CronJob: loose({ metadata, spec: loose({ suspend: flag, jobTemplate: loose({ spec: job.nullish() }).nullish() }).nullish() }),
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
    CSIDriver: loose({ metadata, spec: loose({ storageCapacity: flag, preventPodSchedulingIfMissing: flag }).nullish() }),
    CSIStorageCapacity: loose({
      metadata,
      storageClassName: z.string({ error: 'a name' }),
      nodeTopology: selector.nullish(),
      capacity: quantity.nullish(),
      maximumVolumeSize: quantity.nullish(),
    }),
    Namespace: loose({ metadata }),
    RuntimeClass: loose({
      metadata,
      overhead: loose({ podFixed: quantities.nullish() }).nullish(),
      scheduling: loose({ nodeSelector: strings.nullish(), tolerations }).nullish(),
    }),
    ...deviceSchemas(metadata),
    PodGroup: loose({ metadata, spec: loose({ schedulingPolicy: groupPolicy }) }),
    Workload: loose({ metadata, spec: loose({ podGroups: listOf(loose({ name: word, policy: groupPolicy }), 'groups').nullish() }) }),
    VerticalPodAutoscaler: loose({
      metadata,
      spec: loose({
        targetRef: loose({ kind: word, name: word }),
        updatePolicy: loose({ updateMode: word.nullish() }).nullish(),
        resourcePolicy: loose({
          containerPolicies: listOf(
            loose({ containerName: word, minAllowed: quantities.nullish(), maxAllowed: quantities.nullish() }),
            'policies of containers',
          ).nullish(),
        }).nullish(),
      }),
      status: loose({
        recommendation: loose({
          containerRecommendations: listOf(loose({ containerName: word, target: quantities.nullish() }), 'recommendations').nullish(),
        }).nullish(),
      }).nullish(),
    }),
    PriorityClass: loose({ metadata, value: z.number({ error: 'a number' }), globalDefault: flag }),
  }),
);
