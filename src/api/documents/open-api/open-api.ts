/** The description of `/api/v1` for programs, OpenAPI 3.1. Fields are added and never renamed within v1. Must not know how documents are made. */
import { VERSION } from '../../../lib/version.ts';
import { SCHEMAS } from './component-schemas.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { ref, text, type Schema } from './schema-builders.ts';

export function openApi(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'aks-autoscaler',
      version: VERSION,
      description: 'Read-only. Times are ISO 8601 in UTC, an unknown value is absent, money is per hour in the currency of the price list.',
    },
    servers: [{ url: '/api/v1' }],
    paths: {
      ...Object.fromEntries(Object.entries(OPERATIONS).map(([path, operation]) => [`/${path}`, { get: describe(path, operation) }])),
      '/events': { get: EVENTS },
    },
    components: { schemas: SCHEMAS },
  };
}

function describe(path: string, { summary, schema, query = [] }: Operation): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text }));
  return {
    summary,
    parameters: [...inPath, ...query.map((name) => ({ name, in: 'query', required: false, schema: text }))],
    responses: { '200': { description: summary, content: json(schema) }, ...REFUSALS },
  };
}

function json(schema: Schema): object {
  return { 'application/json': { schema } };
}

const REFUSALS = {
  '404': { description: 'There is no such document', content: json(ref('Message')) },
  '409': { description: 'This replica is a standby; `command` reaches the leader', content: json(ref('Message')) },
  '503': { description: 'No loop has decided anything yet; see Retry-After', content: json(ref('Message')) },
};

const EVENTS = {
  summary: 'Changes of the overview as server-sent events, at most ten streams',
  description:
    '`resync` carries the whole overview, `loop` a JSON merge patch (RFC 7396) from the overview before, `ping` the time of the daemon in milliseconds, ' +
    '`leader` the end of leadership. A request with Last-Event-ID gets the patches that it missed, or `resync`.',
  parameters: [{ name: 'Last-Event-ID', in: 'header', required: false, schema: text }],
  responses: { '200': { description: 'The stream', content: { 'text/event-stream': { schema: text } } }, ...REFUSALS },
};
