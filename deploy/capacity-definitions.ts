/**
 * Definitions of the custom resources that the daemon can serve, for clusters that have none. Fields, limits and versions are those of
 * the Cluster Autoscaler's API group, so that objects written for one can be used with the other. All versions of a kind have one
 * schema: the API server converts between them by their name alone.
 */
import type { JsonMap } from './notation.ts';
import { helmNotation, helmText } from './helm-text.ts';

const GROUP = 'autoscaling.x-k8s.io';

interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
  /** The first is stored. */
  readonly versions: readonly string[];
  readonly columns: readonly (readonly [name: string, type: string, path: string])[];
  readonly spec: JsonMap;
  readonly status: JsonMap;
}

const text = (description: string, rest: JsonMap = {}): JsonMap => ({ type: 'string', description, ...rest });
const whole = (description: string, rest: JsonMap = {}): JsonMap => ({ type: 'integer', format: 'int32', description, ...rest });
const object = (description: string, properties: JsonMap, rest: JsonMap = {}): JsonMap => ({
  type: 'object',
  description,
  properties,
  ...rest,
});
const NAMED: JsonMap = { name: text('Its name.', { minLength: 1, maxLength: 253 }) };
const named = (description: string): JsonMap => object(description, NAMED, { required: ['name'] });
/** Amounts as Kubernetes writes them: `4`, `500m`, `16Gi`. */
const amounts = (description: string, rest: JsonMap = {}): JsonMap => ({
  type: 'object',
  description,
  additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
  ...rest,
});
const FIXED: JsonMap = { 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'cannot be changed; create another request' }] };

const CONDITIONS: JsonMap = {
  type: 'array',
  description: 'What the autoscaler found.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: object(
    'One finding.',
    {
      type: text('Its name.', { maxLength: 316 }),
      status: text('Whether it holds.', { enum: ['True', 'False', 'Unknown'] }),
      reason: text('Why, as one word.', { maxLength: 1024 }),
      message: text('Why, as a sentence.', { maxLength: 32_768 }),
      lastTransitionTime: text('When the status changed last.', { format: 'date-time' }),
      observedGeneration: { type: 'integer', format: 'int64', minimum: 0, description: 'The generation of the object that it is about.' },
    },
    { required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'] },
  ),
};

const BUFFER: Kind = {
  kind: 'CapacityBuffer',
  plural: 'capacitybuffers',
  shortNames: ['cb'],
  scope: 'Namespaced',
  versions: ['v1beta1', 'v1alpha1'],
  columns: [
    ['Replicas', 'integer', '.status.replicas'],
    ['Ready', 'string', ".status.conditions[?(@.type=='ReadyForProvisioning')].status"],
    ['Provisioned', 'string', ".status.conditions[?(@.type=='Provisioning')].status"],
  ],
  spec: object(
    'Room that is kept free for pods of one form.',
    {
      provisioningStrategy: text('How room is kept; there is one way.', { default: 'buffer.x-k8s.io/active-capacity' }),
      podTemplateRef: named('A PodTemplate of the namespace: the form of one pod.'),
      scalableRef: object(
        'A workload of the namespace whose pods have the form.',
        {
          apiGroup: text('Its API group; empty for the core group.'),
          kind: text('Its kind, such as Deployment.', { minLength: 1 }),
          name: text('Its name.', { minLength: 1 }),
        },
        { required: ['kind', 'name'] },
      ),
      replicas: whole('For how many pods.', { minimum: 0 }),
      percentage: whole('For this share of the pods of the workload, in percent, rounded up.', { minimum: 0 }),
      limits: amounts('Room for as many pods as request no more than this.'),
    },
    {
      'x-kubernetes-validations': [
        { rule: 'has(self.podTemplateRef) != has(self.scalableRef)', message: 'exactly one of podTemplateRef and scalableRef is needed' },
        {
          rule: '!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)',
          message: 'with podTemplateRef, replicas or limits are needed',
        },
      ],
    },
  ),
  status: object('What the autoscaler made of it.', {
    replicas: whole('For how many pods room is kept.'),
    podTemplateRef: named('The PodTemplate that was read.'),
    podTemplateGeneration: { type: 'integer', format: 'int64', description: 'Its generation.' },
    provisioningStrategy: text('The strategy in force.'),
    conditions: CONDITIONS,
  }),
};

const SELECTOR = object(
  'The nodes that count, by their labels. If absent, all.',
  {
    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
    matchExpressions: {
      type: 'array',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: { type: 'string' },
          operator: { type: 'string' },
          values: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
        },
      },
    },
  },
  { 'x-kubernetes-map-type': 'atomic' },
);

const QUOTA: Kind = {
  kind: 'CapacityQuota',
  plural: 'capacityquotas',
  shortNames: ['cq'],
  scope: 'Cluster',
  versions: ['v1beta1', 'v1alpha1'],
  columns: [['Valid', 'string', ".status.conditions[?(@.type=='cluster-autoscaler.kubernetes.io/valid')].status"]],
  spec: object(
    'A limit of what nodes may offer in sum.',
    {
      selector: SELECTOR,
      limits: object(
        'The limits.',
        { resources: amounts('cpu, memory, nodes, or further resources, in whole numbers.', { minProperties: 1, maxProperties: 20 }) },
        { required: ['resources'] },
      ),
    },
    { required: ['limits'] },
  ),
  status: object('What the autoscaler counted.', {
    used: object('What the nodes offer now.', { resources: amounts('By resource.') }),
    conditions: CONDITIONS,
  }),
};

const REQUEST: Kind = {
  kind: 'ProvisioningRequest',
  plural: 'provisioningrequests',
  shortNames: ['provreq', 'provreqs'],
  scope: 'Namespaced',
  versions: ['v1', 'v1beta1'],
  columns: [
    ['Class', 'string', '.spec.provisioningClassName'],
    ['Provisioned', 'string', ".status.conditions[?(@.type=='Provisioned')].status"],
    ['Failed', 'string', ".status.conditions[?(@.type=='Failed')].status"],
  ],
  spec: object(
    'Pods that need room all at once.',
    {
      provisioningClassName: text('check-capacity.autoscaling.x-k8s.io or best-effort-atomic-scale-up.autoscaling.x-k8s.io.', {
        maxLength: 253,
        ...FIXED,
      }),
      podSets: {
        type: 'array',
        description: 'The pods, by their form.',
        minItems: 1,
        maxItems: 32,
        items: object(
          'Pods of one form.',
          { podTemplateRef: named('A PodTemplate of the namespace.'), count: whole('How many.', { minimum: 1 }) },
          { required: ['podTemplateRef', 'count'] },
        ),
        ...FIXED,
      },
      parameters: {
        type: 'object',
        description: 'Parameters of the class.',
        maxProperties: 100,
        additionalProperties: { type: 'string', maxLength: 255 },
        ...FIXED,
      },
    },
    { required: ['provisioningClassName', 'podSets'] },
  ),
  status: object('The answer of the autoscaler.', {
    conditions: CONDITIONS,
    provisioningClassDetails: { type: 'object', maxProperties: 64, additionalProperties: { type: 'string', maxLength: 32_768 } },
  }),
};

const KINDS = [BUFFER, QUOTA, REQUEST];

function definitionOf({ kind, plural, shortNames, scope, versions, columns, spec, status }: Kind): JsonMap {
  const [stored = ''] = versions;
  const schema: JsonMap = {
    type: 'object',
    required: ['spec'],
    properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec, status },
  };
  const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${GROUP}`,
      // A definition that is removed takes all of its objects with it.
      annotations: { 'helm.sh/resource-policy': 'keep' },
    },
    spec: {
      group: GROUP,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
      conversion: { strategy: 'None' },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === stored,
        additionalPrinterColumns: [...columns.map(([column, type, jsonPath]) => ({ name: column, type, jsonPath })), age],
        schema: { openAPIV3Schema: schema },
        subresources: { status: {} },
      })),
    },
  };
}

/** All definitions, for `kubectl apply`. */
export function capacityDefinitions(): readonly JsonMap[] {
  return KINDS.map(definitionOf);
}

/**
 * The chart's template: each definition, unless the cluster has it from another source. One that this release made is rendered again,
 * because Helm would remove it otherwise.
 */
export function capacityDefinitionsTemplate(): string {
  const parts = capacityDefinitions().map((definition) => {
    const { name } = definition['metadata'] as { readonly name: string };
    return [
      `{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "${name}" }}`,
      '{{- $owner := dig "metadata" "annotations" "meta.helm.sh/release-name" "" ($found | default dict) }}',
      '{{- if or (not $found) (eq $owner .Release.Name) }}',
      helmText([helmNotation.literal(definition)]).trimEnd(),
      '{{- end }}',
    ].join('\n');
  });
  return ['{{- if .Values.capacityDefinitions.create }}', ...parts, '{{- end }}', ''].join('\n');
}
