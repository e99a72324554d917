/** The description of `/api/v1` for programs, OpenAPI 3.1. Fields are added and never renamed within v1. */
import { SCALE_UP_STAGES } from '../../domain/history.ts';
import { DISAGREEMENT_TITLES } from '../../planning/shadow/report-words.ts';
import { VERDICT_CLASSES } from '../../planning/explain/refusal-class.ts';
import { VERSION } from '../../lib/version.ts';
import { POOL_STATES } from './pools.ts';

type Schema = Readonly<Record<string, unknown>>;

const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const amount = { type: 'number' } as const;
const flag = { type: 'boolean' } as const;
const anything = { type: 'object' } as const;

function oneOf(values: readonly unknown[]): Schema {
  return { enum: values };
}

function list(items: Schema): Schema {
  return { type: 'array', items };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** A key that ends in `?` is optional. */
function object(fields: Readonly<Record<string, Schema>>): Schema {
  const names = Object.keys(fields);
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    required: names.filter((name) => !name.endsWith('?')),
    additionalProperties: false,
  };
}

function numbersBy(): Schema {
  return { type: 'object', additionalProperties: count };
}

const COMMON = { observedAt: time, loopId: count, replica: text, leading: { const: true }, memorySince: time };
const PAGE = { ...COMMON, total: count, 'next?': text };
const CHANGE = object({ at: time, pool: text, from: count, to: count, why: text });

const STEP = object({ where: text, 'command?': text, 'patch?': text, 'warning?': text });

const SCHEMAS: Readonly<Record<string, Schema>> = {
  Message: object({ message: text, 'leader?': text, 'command?': text }),
  Fix: object({
    proved: flag,
    text,
    'simulated?': object({ pods: count, of: count, others: count, nodes: count, 'perHour?': amount }),
    changes: list(anything),
    steps: list(STEP),
    'nearest?': text,
    tried: count,
  }),
  RemovalFix: object({
    text,
    frees: object({ nodes: count, cores: amount, memoryGib: amount, 'perHour?': amount }),
    steps: list(STEP),
  }),
  PendingClass: object({
    id: text,
    namespace: text,
    owner: text,
    ownerKind: text,
    pods: count,
    sample: text,
    requests: text,
    verdict: oneOf(VERDICT_CLASSES),
    need: oneOf(['change', 'azure', 'coming', 'ignored']),
    sentence: text,
    'decisive?': object({ pool: text, rule: text, 'needs?': amount, 'offers?': amount, 'resource?': text }),
    'oldestSince?': time,
    'expectedReadyAt?': time,
    'retryAt?': time,
    'azure?': object({ group: text, 'until?': time, 'since?': time, cause: text, 'message?': text, 'correlationId?': text }),
    'fix?': ref('Fix'),
    'obstacleRows?': count,
  }),
  Pool: object({
    name: text,
    vmSize: text,
    'spot?': { const: true },
    min: count,
    max: count,
    'target?': count,
    ready: count,
    'unready?': count,
    'upcoming?': count,
    'removing?': count,
    state: oneOf(POOL_STATES),
    'sentence?': text,
    'until?': time,
    'podsWaiting?': count,
    'perHour?': amount,
    'tokens?': object({ left: count, of: count }),
    zones: list(text),
    'drift?': object({ azure: count, aks: count, nodes: count }),
    'labels?': { type: 'object', additionalProperties: text },
  }),
  Blocker: object({
    id: text,
    title: text,
    reason: text,
    'blockedBy?': text,
    nodes: count,
    cores: amount,
    memoryGib: amount,
    'perHour?': amount,
    'wastedPerHour?': amount,
    examples: list(text),
    'fix?': ref('RemovalFix'),
  }),
  Node: object({
    name: text,
    'pool?': text,
    verdict: oneOf(['goes', 'stays']),
    'reason?': text,
    title: text,
    sentence: text,
    'blocker?': object({ pod: text, rule: text, detail: text }),
    'utilization?': amount,
    'unneededSince?': time,
    'nextCheck?': time,
    'perHour?': amount,
    ready: flag,
  }),
  ScaleUp: object({
    id: text,
    pool: text,
    from: count,
    to: count,
    cause: text,
    pods: count,
    decision: text,
    stages: list(object({ name: oneOf(SCALE_UP_STAGES), 'at?': time, count, 'p50Ms?': amount, 'p90Ms?': amount })),
    'expectedAt?': time,
    'lateAfter?': time,
    'failure?': text,
    'endedAt?': time,
  }),
  Mark: object({
    at: time,
    kind: oneOf(['increase', 'removal', 'try', 'other-writer', 'eviction']),
    actor: oneOf(['autoscaler', 'eviction', 'aks', 'another-writer']),
    'actorName?': text,
    from: count,
    to: count,
    cause: text,
    'decision?': text,
    'pool?': text,
    'level?': count,
  }),
};

const WASTE = {
  rows: list(ref('Blocker')),
  nodes: count,
  cores: amount,
  memoryGib: amount,
  'perHour?': amount,
  otherNodes: count,
  totalNodes: count,
  'inhibited?': text,
};

const OVERVIEW = object({
  ...COMMON,
  'cluster?': text,
  'location?': text,
  version: text,
  dryRun: flag,
  act: object({
    allowed: oneOf(['yes', 'no', 'dry-run']),
    'because?': text,
    clusterReadAt: time,
    'azureReadAt?': time,
    exceptions: list(object({ pool: text, reason: text, 'until?': time })),
    missingRights: list(object({ side: oneOf(['azure', 'kubernetes']), action: text, 'scope?': text, 'identity?': text, rule: text })),
  }),
  leader: object({ name: text, since: time }),
  configuration: object({ generation: count, since: time }),
  loop: object({
    id: count,
    startedAt: time,
    durationMs: amount,
    intervalMs: amount,
    outcome: text,
    failures: list(object({ step: text, message: text })),
  }),
  nodes: object({ total: count, ready: count, unready: count, upcoming: count }),
  pending: object({
    total: count,
    byNeed: numbersBy(),
    byVerdict: numbersBy(),
    classes: count,
    hidden: { type: 'object', additionalProperties: object({ classes: count, pods: count }) },
    'oldestNeedingChangeSince?': time,
    'cutShortAfter?': count,
  }),
  classes: list(ref('PendingClass')),
  onTheWay: list(ref('ScaleUp')),
  removals: object({ enabled: flag, 'inhibited?': text, removing: count, candidates: count, 'perHour?': amount, 'last?': CHANGE }),
  pools: list(ref('Pool')),
  'waste?': object(WASTE),
  'cost?': object({ 'currency?': text, perHour: amount, upcomingPerHour: amount, unpriced: list(text), 'listReadAt?': time }),
  'lastChange?': CHANGE,
  'newestDecision?': text,
});

/** Times of this document are milliseconds since the epoch, as in the output of `report --json`. */
const SIDE = { 'cost?': amount, podMinutes: amount, nodesAdded: count, nodesRemoved: count };
const REPORT = object({
  fromMs: amount,
  toMs: amount,
  isPartial: flag,
  seenMs: amount,
  pools: count,
  'currency?': text,
  theirs: object({ ...SIDE, longestWaitMs: amount }),
  ours: object(SIDE),
  disagreements: list(
    object({
      kind: oneOf(Object.keys(DISAGREEMENT_TITLES)),
      atMs: amount,
      pools: list(text),
      nodes: count,
      ours: text,
      theirs: text,
      'cost?': amount,
      podMinutes: amount,
    }),
  ),
  sizesWithoutPrice: list(text),
  assumptions: list(text),
});

const DURATIONS = { count, p50Ms: amount, p90Ms: amount };

interface Operation {
  readonly summary: string;
  readonly schema: Schema;
  readonly query?: readonly string[];
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  overview: { summary: 'What the page paints first', schema: OVERVIEW },
  pending: {
    summary: 'Classes of equal pending pods, 100 per page',
    schema: object({ ...PAGE, items: list(ref('PendingClass')) }),
    query: ['verdict', 'q', 'cursor'],
  },
  'pending/{id}/obstacles': {
    summary: 'Every pool with all obstacles; pools with the same ones share a row',
    schema: object({ id: text, rows: list(object({ pools: list(text), fits: flag, obstacles: list(text) })) }),
  },
  pools: { summary: 'Pools, 100 per page', schema: object({ ...PAGE, items: list(ref('Pool')) }), query: ['q', 'cursor'] },
  nodes: {
    summary: 'Nodes by name, 100 per page',
    schema: object({ ...PAGE, items: list(ref('Node')) }),
    query: ['reason', 'pool', 'cursor'],
  },
  blockers: { summary: 'What keeps nodes from being removed, and what they cost', schema: object({ ...COMMON, ...WASTE }) },
  search: {
    summary: 'Pods, nodes, pools and decisions by parts of their names',
    schema: object({ ...COMMON, items: list(object({ kind: oneOf(['pod', 'node', 'pool', 'decision']), id: text, line: text })) }),
    query: ['q'],
  },
  timeline: {
    summary: 'Sizes and changes of pools over time, from `from` until now, at most 8 days',
    schema: object({
      ...COMMON,
      from: time,
      to: time,
      knownSince: time,
      lanes: list(
        object({
          pool: text,
          'siblings?': list(text),
          max: count,
          ready: count,
          'target?': count,
          steps: list(list(amount)),
          marks: list(ref('Mark')),
          spans: list(object({ from: time, 'to?': time, kind: oneOf(['backing-off', 'frozen']), cause: text })),
        }),
      ),
      more: count,
      otherWriters: count,
    }),
    query: ['from', 'pools', 'columns', 'lanes'],
  },
  scaleups: {
    summary: 'Increases stage by stage',
    schema: object({ ...COMMON, items: list(ref('ScaleUp')) }),
    query: ['pool', 'state'],
  },
  stages: {
    summary: 'How long increases took, by pool',
    schema: object({
      ...COMMON,
      items: list(
        object({
          pool: text,
          'ready?': object(DURATIONS),
          stages: list(object({ name: oneOf(SCALE_UP_STAGES), ...DURATIONS })),
          failed: count,
          'slowest?': oneOf(SCALE_UP_STAGES),
        }),
      ),
    }),
    query: ['pool'],
  },
  decisions: {
    summary: 'Decisions and changes of other writers, the newest first, 100 per page',
    schema: object({
      ...COMMON,
      items: list(
        object({
          id: text,
          at: time,
          kind: oneOf(['increase', 'removal', 'pending', 'withheld', 'failed', 'other-writer', 'eviction']),
          sentence: text,
          pools: list(text),
          'dumpFile?': text,
        }),
      ),
      knownSince: time,
      'next?': text,
    }),
    query: ['q', 'from', 'cursor'],
  },
  report: { summary: 'What a dry run would have done against what others did; 404 without a dry run', schema: REPORT, query: ['since'] },
  'pods/{namespace}/{name}': { summary: 'What `explain pod --json` prints', schema: anything },
  'nodes/{name}': { summary: 'What `explain node --json` prints', schema: anything },
  'pools/{name}': { summary: 'What `explain pool --json` prints', schema: anything },
  'decisions/{id}': { summary: 'What `explain decision --json` prints', schema: anything },
};

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
