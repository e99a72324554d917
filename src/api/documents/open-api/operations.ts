/** The documents of `/api/v1`: what each is for, its fields, and the parameters that it takes. */
import { HINT_KINDS } from '../../../domain/ports/shared-hints.ts';
import { SCALE_UP_STAGES } from '../../../domain/history.ts';
import { DISAGREEMENT_TITLES } from '../../../planning/shadow/report-words.ts';
import { CHANGE, COMMON, PAGE } from './component-schemas.ts';
import { amount, anything, count, flag, list, numbersBy, object, oneOf, ref, text, time, type Schema } from './schema-builders.ts';

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

const SAVED = object({ nodes: count, cores: amount, 'perHour?': amount });
const REPACK_SET = object({
  text,
  remove: list(object({ node: text, pool: text })),
  'add?': object({ pool: text, nodes: count }),
  saved: SAVED,
  pods: count,
  disruption: amount,
  score: amount,
});
const REPACKING = object({
  'text?': text,
  'at?': time,
  'nodes?': count,
  'needed?': count,
  'saved?': SAVED,
  'cutShort?': flag,
  sets: list(REPACK_SET),
  blockers: list(object({ text, reason: text, 'blockedBy?': text, nodes: count, unused: SAVED })),
  on: list(text),
  running: list(object({ text, stage: text, since: time, set: REPACK_SET })),
  'lastSearch?': object({ at: time, 'why?': text }),
});

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
  'repacking?': REPACKING,
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
  'repacking?': object({ atMs: amount, text, nodes: count, needed: count, 'perHour?': amount, leftOut: list(text) }),
  sizesWithoutPrice: list(text),
  assumptions: list(text),
});

const DURATIONS = { count, p50Ms: amount, p90Ms: amount };

export interface Operation {
  readonly summary: string;
  readonly schema: Schema;
  readonly query?: readonly string[];
}

/** Every document, by its path after `/api/v1/`. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
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
      'ahead?': list(object({ at: time, local: text, pools: list(text), text })),
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
  agents: {
    summary: 'Who reads Azure: the caching agents of this process, and the clusters that share what they read',
    schema: object({
      ...COMMON,
      agents: list(
        object({
          id: text,
          kind: text,
          state: oneOf(['idle', 'running', 'held', 'disabled']),
          'rows?': count,
          'readBy?': text,
          'startedAt?': time,
          'succeededAt?': time,
          'dueAt?': time,
          'heldUntil?': time,
          failures: count,
          'error?': text,
          'remaining?': object({ policy: text, left: count, of: count }),
        }),
      ),
      'store?': object({
        'trouble?': text,
        clusters: list(object({ cluster: text, process: text, version: text, seenAt: time, reads: list(text), 'isThis?': flag })),
        hints: list(object({ kind: oneOf(HINT_KINDS), about: text, by: text, at: time, until: time, 'left?': count, 'of?': count })),
      }),
    }),
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
