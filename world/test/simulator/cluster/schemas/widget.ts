/** A custom kind with a field of every type. The refusals in the tests were recorded from a real API server (Kubernetes 1.35) with it. */
import type { JsonSchema } from '../../../../simulator/cluster/schemas/json-schema.ts';

const SPEC: JsonSchema = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 10, description: 'How large it is.' },
    color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
    name: { type: 'string', pattern: '^[a-z]+$', maxLength: 5, minLength: 2 },
    ratio: { type: 'number' },
    flags: { type: 'array', items: { type: 'string' }, maxItems: 2, 'x-kubernetes-list-type': 'set' },
    parts: {
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'string' }, n: { type: 'integer', default: 7 } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['id'],
    },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    map: { type: 'object', additionalProperties: { type: 'integer' } },
    port: { 'x-kubernetes-int-or-string': true },
    on: { type: 'boolean', nullable: true },
    when: { type: 'string', format: 'date-time' },
  },
};

export const WIDGET_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { spec: SPEC, status: { type: 'object', properties: { ready: { type: 'integer' }, phase: { type: 'string' } } } },
};

export const DEFINITIONS_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const WIDGETS_PATH = '/apis/example.com/v1/namespaces/default/widgets';

/** The definition, with changes of its only version and of its spec. */
export function aDefinition(
  version: Readonly<Record<string, unknown>> = {},
  spec: Readonly<Record<string, unknown>> = {},
  name = 'widgets.example.com',
) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'], categories: ['all'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: WIDGET_SCHEMA },
          subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.ready' } },
          additionalPrinterColumns: [
            { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          ...version,
        },
      ],
      ...spec,
    },
  };
}

export function aWidget(name: string, spec: unknown, rest: Readonly<Record<string, unknown>> = {}) {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec, ...rest };
}
