/** The kinds of objects that are read from protobuf, with the field numbers of the API's published generated.proto files. */
export type Field =
  | {
      readonly name: string;
      readonly kind:
        | 'text'
        | 'number'
        | 'flag'
        | 'texts'
        | 'textMap'
        | 'bytes'
        | 'bytesMap'
        | 'intOrText'
        | 'time'
        | 'microTime'
        | 'quantities'
        | 'quantity';
    }
  | { readonly name: string; readonly kind: 'message' | 'messages'; readonly of: Message }
  | { readonly name: string; readonly kind: 'ignored' };

/** Field number -> field, as published in the API's generated.proto files. */
export type Message = ReadonlyMap<number, Field>;

export const message = (fields: Readonly<Record<number, Field>>): Message =>
  new Map(Object.entries(fields).map(([number, field]) => [Number(number), field]));
export const text = (name: string): Field => ({ name, kind: 'text' });
export const number = (name: string): Field => ({ name, kind: 'number' });

export const flag = (name: string): Field => ({ name, kind: 'flag' });
export const texts = (name: string): Field => ({ name, kind: 'texts' });
const time = (name: string): Field => ({ name, kind: 'time' });
const microTime = (name: string): Field => ({ name, kind: 'microTime' });
export const one = (name: string, of: Message): Field => ({ name, kind: 'message', of });
export const many = (name: string, of: Message): Field => ({ name, kind: 'messages', of });
const ignored = (name: string): Field => ({ name, kind: 'ignored' });

const OWNER = message({
  1: text('kind'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: flag('controller'),
  7: flag('blockOwnerDeletion'),
});
const META = message({
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  5: text('uid'),
  6: text('resourceVersion'),
  // The server sets these itself and ignores a client's values.
  7: { name: 'generation', kind: 'ignored' },
  8: { name: 'creationTimestamp', kind: 'ignored' },
  9: ignored('deletionTimestamp'),
  10: ignored('deletionGracePeriodSeconds'),
  11: { name: 'labels', kind: 'textMap' },
  12: { name: 'annotations', kind: 'textMap' },
  13: many('ownerReferences', OWNER),
  14: texts('finalizers'),
  17: ignored('managedFields'),
});
export const SELECTOR = message({ 1: { name: 'matchLabels', kind: 'textMap' } });
const PORT = message({ 1: text('name'), 2: number('hostPort'), 3: number('containerPort'), 4: text('protocol'), 5: text('hostIP') });
const RESOURCES = message({ 1: { name: 'limits', kind: 'quantities' }, 2: { name: 'requests', kind: 'quantities' } });
const CONTAINER = message({
  1: text('name'),
  2: text('image'),
  3: texts('command'),
  4: texts('args'),
  5: text('workingDir'),
  6: many('ports', PORT),
  7: many('env', message({ 1: text('name'), 2: text('value') })),
  8: one('resources', RESOURCES),
  9: many('volumeMounts', message({ 1: text('name'), 2: flag('readOnly'), 3: text('mountPath'), 4: text('subPath') })),
  13: text('terminationMessagePath'),
  14: text('imagePullPolicy'),
  20: text('terminationMessagePolicy'),
  24: text('restartPolicy'),
});
const TOLERATION = message({ 1: text('key'), 2: text('operator'), 3: text('value'), 4: text('effect'), 5: number('tolerationSeconds') });
const POD_SPEC = message({
  2: many('containers', CONTAINER),
  3: text('restartPolicy'),
  4: number('terminationGracePeriodSeconds'),
  5: number('activeDeadlineSeconds'),
  6: text('dnsPolicy'),
  7: { name: 'nodeSelector', kind: 'textMap' },
  8: text('serviceAccountName'),
  9: text('serviceAccount'),
  10: text('nodeName'),
  11: flag('hostNetwork'),
  19: text('schedulerName'),
  20: many('initContainers', CONTAINER),
  21: flag('automountServiceAccountToken'),
  22: many('tolerations', TOLERATION),
  24: text('priorityClassName'),
  25: number('priority'),
  29: text('runtimeClassName'),
  30: flag('enableServiceLinks'),
  31: text('preemptionPolicy'),
  32: { name: 'overhead', kind: 'quantities' },
  38: many('schedulingGates', message({ 1: text('name') })),
});
export const TEMPLATE = message({ 1: { name: 'metadata', kind: 'message', of: META }, 2: { name: 'spec', kind: 'message', of: POD_SPEC } });
const DEPLOYMENT_SPEC = message({
  1: number('replicas'),
  2: { name: 'selector', kind: 'message', of: SELECTOR },
  3: { name: 'template', kind: 'message', of: TEMPLATE },
  4: { name: 'strategy', kind: 'message', of: message({ 1: text('type') }) },
});
const BUDGET_SPEC = message({
  1: { name: 'minAvailable', kind: 'intOrText' },
  2: { name: 'selector', kind: 'message', of: SELECTOR },
  3: { name: 'maxUnavailable', kind: 'intOrText' },
});
const RULE = message({
  1: { name: 'verbs', kind: 'texts' },
  2: { name: 'apiGroups', kind: 'texts' },
  3: { name: 'resources', kind: 'texts' },
  4: { name: 'resourceNames', kind: 'texts' },
  5: { name: 'nonResourceURLs', kind: 'texts' },
});
const SUBJECT = message({ 1: text('kind'), 2: text('apiGroup'), 3: text('name'), 4: text('namespace') });
const ROLE_REF = message({ 1: text('apiGroup'), 2: text('kind'), 3: text('name') });
export const STATUS: Field = { name: 'status', kind: 'ignored' };
export const metadata: Field = { name: 'metadata', kind: 'message', of: META };

const ROLE = message({ 1: metadata, 2: { name: 'rules', kind: 'messages', of: RULE } });
const ROLE_BINDING = message({
  1: metadata,
  2: { name: 'subjects', kind: 'messages', of: SUBJECT },
  3: { name: 'roleRef', kind: 'message', of: ROLE_REF },
});

const LEASE_SPEC = message({
  1: text('holderIdentity'),
  2: number('leaseDurationSeconds'),
  3: microTime('acquireTime'),
  4: microTime('renewTime'),
  5: number('leaseTransitions'),
  6: text('strategy'),
  7: text('preferredHolder'),
});
const REFERENCE = message({
  1: text('kind'),
  2: text('namespace'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: text('resourceVersion'),
  7: text('fieldPath'),
});
const EVENT = message({
  1: metadata,
  2: one('involvedObject', REFERENCE),
  3: text('reason'),
  4: text('message'),
  5: one('source', message({ 1: text('component'), 2: text('host') })),
  6: time('firstTimestamp'),
  7: time('lastTimestamp'),
  8: number('count'),
  9: text('type'),
  10: microTime('eventTime'),
  11: one('series', message({ 1: number('count'), 2: microTime('lastObservedTime') })),
  12: text('action'),
  13: one('related', REFERENCE),
  14: text('reportingComponent'),
  15: text('reportingInstance'),
});
const DELETE_OPTIONS = message({
  1: number('gracePeriodSeconds'),
  2: one('preconditions', message({ 1: text('uid'), 2: text('resourceVersion') })),
  3: flag('orphanDependents'),
  4: text('propagationPolicy'),
  5: texts('dryRun'),
});
const NODE_SPEC = message({
  1: text('podCIDR'),
  2: text('externalID'),
  3: text('providerID'),
  4: flag('unschedulable'),
  5: many('taints', message({ 1: text('key'), 2: text('value'), 3: text('effect'), 4: time('timeAdded') })),
  7: texts('podCIDRs'),
});

const EVICTION = message({ 1: metadata, 2: one('deleteOptions', DELETE_OPTIONS) });

export const KINDS: ReadonlyMap<string, Message> = new Map([
  ['v1 Namespace', message({ 1: metadata, 2: { name: 'spec', kind: 'message', of: message({}) }, 3: STATUS })],
  [
    'v1 ConfigMap',
    message({ 1: metadata, 2: { name: 'data', kind: 'textMap' }, 3: { name: 'binaryData', kind: 'bytesMap' }, 4: flag('immutable') }),
  ],
  ['v1 Event', EVENT],
  // A write of the object itself never changes the status.
  ['v1 Node', message({ 1: metadata, 2: one('spec', NODE_SPEC), 3: STATUS })],
  ['v1 Pod', message({ 1: metadata, 2: one('spec', POD_SPEC), 3: STATUS })],
  ['v1 DeleteOptions', DELETE_OPTIONS],
  ['meta.k8s.io/v1 DeleteOptions', DELETE_OPTIONS],
  ['coordination.k8s.io/v1 Lease', message({ 1: metadata, 2: one('spec', LEASE_SPEC) })],
  ['policy/v1 Eviction', EVICTION],
  // The Cluster Autoscaler 1.36 still sends this version, which a real server accepts.
  ['policy/v1beta1 Eviction', EVICTION],
  ['v1 Secret', message({ 1: metadata, 2: { name: 'data', kind: 'bytesMap' }, 3: text('type') })],
  ['v1 ServiceAccount', message({ 1: metadata })],
  ['rbac.authorization.k8s.io/v1 Role', ROLE],
  ['rbac.authorization.k8s.io/v1 ClusterRole', ROLE],
  ['rbac.authorization.k8s.io/v1 RoleBinding', ROLE_BINDING],
  ['rbac.authorization.k8s.io/v1 ClusterRoleBinding', ROLE_BINDING],
  ['apps/v1 Deployment', message({ 1: metadata, 2: { name: 'spec', kind: 'message', of: DEPLOYMENT_SPEC }, 3: STATUS })],
  ['policy/v1 PodDisruptionBudget', message({ 1: metadata, 2: { name: 'spec', kind: 'message', of: BUDGET_SPEC }, 3: STATUS })],
  [
    'scheduling.k8s.io/v1 PriorityClass',
    message({
      1: metadata,
      2: number('value'),
      3: { name: 'globalDefault', kind: 'flag' },
      4: text('description'),
      5: text('preemptionPolicy'),
    }),
  ],
]);
