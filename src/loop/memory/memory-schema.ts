/** The form of a stored memory, checked part by part: a person may have edited the ConfigMap. */
import * as z from 'zod';
import { nodeGroupId } from '../../domain/ids.ts';
import { REMOVAL_CAUSES } from '../../domain/plan.ts';
import type { ErrorKind } from '../../lib/errors.ts';

/** The nodes of a scale set have long names that differ in the last characters only. */
export const SUFFIX_LENGTH = 6;
/** Nothing that is remembered ends later, milliseconds after it was saved. */
export const LONGEST_MS = 30 * 86_400_000;

const KINDS: Readonly<Record<ErrorKind['kind'], true>> = {
  config: true,
  auth: true,
  throttled: true,
  'out-of-capacity': true,
  quota: true,
  conflict: true,
  'not-found': true,
  unavailable: true,
  'kube-api': true,
  cancelled: true,
  bug: true,
};

const time = z.number().min(0).max(8.64e15);
const duration = z.number().min(0).max(LONGEST_MS);
const word = z.string().max(512);
const count = z.number().int().min(0).max(1_000_000);
const group = word.transform(nodeGroupId);
const kind = word.refine((name): name is ErrorKind['kind'] => Object.hasOwn(KINDS, name));

const backoff = z.object({
  untilMs: time,
  durationMs: duration,
  lastFailureMs: time,
  cause: word,
  kind: kind.exactOptional(),
  correlationId: word.exactOptional(),
  refused: z.literal(true).exactOptional(),
});

const scope = z.object({
  vmSize: word.exactOptional(),
  family: z.object({ name: word, vcpus: z.number() }).exactOptional(),
  zone: word.exactOptional(),
  priority: z.enum(['Regular', 'Spot']).exactOptional(),
  quota: word.exactOptional(),
});

const groupTimes = z.object({
  scaleUpMs: time.exactOptional(),
  scaleDownMs: time.exactOptional(),
  scaleDownFailureMs: time.exactOptional(),
  nodeCameMs: time.exactOptional(),
});

const accepted = z.object({
  nodes: count,
  acceptedAtMs: time,
  joinedAtMs: time.exactOptional(),
  readyAtMs: time.exactOptional(),
  incomplete: z.literal(true).exactOptional(),
  started: count.exactOptional(),
  pods: z.array(z.object({ class: word, count, firstAskedAtMs: time.exactOptional() })),
});

const amount = z.number().min(0);
const hostPort = z.object({ port: count, protocol: z.enum(['TCP', 'UDP', 'SCTP']), hostIp: word });
const taint = z.object({ key: word, value: word, effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']) });

const difference = z.object({
  node: word,
  resources: z.array(
    z.object({ resource: word, promised: amount, offered: amount, pod: word.exactOptional(), uses: amount.exactOptional() }),
  ),
  labels: z.array(z.object({ key: word, promised: word, found: word.exactOptional() })),
  taints: z.array(taint),
  ports: z.array(hostPort),
  features: z.array(word).exactOptional(),
  devices: z.array(z.object({ driver: word, promised: count, offered: count })).exactOptional(),
  drivers: z.array(word).exactOptional(),
  zones: z.object({ missing: z.array(word), found: word }).exactOptional(),
});

const brokenPromise = z.object({
  difference,
  nodes: z.array(word).max(10),
  template: word,
  model: word,
  classes: z.array(word),
  sinceMs: time,
  untilMs: time,
  reportedAtMs: time.exactOptional(),
});

const node = z.string().max(256);
const repackSet = z.object({
  remove: z.array(z.object({ node, group, condition: word.exactOptional() })).max(10_000),
  add: z.object({ group, nodes: count }).exactOptional(),
  saved: z.object({ nodes: z.number(), cpuMillis: z.number(), perHour: z.number().exactOptional() }),
  pods: count,
  disruption: amount,
  score: z.number(),
});
const repacks = z.object({
  running: z.array(
    z.object({
      set: repackSet,
      stage: z.enum(['checked', 'adding', 'draining']),
      sinceMs: time,
      stageSinceMs: time,
      before: z.array(node).max(10_000),
    }),
  ),
  closures: z.array(z.tuple([node, z.object({ untilMs: time, durationMs: duration })])),
  begunMs: z.array(time),
  moved: z.array(z.object({ owner: word, pods: count, atMs: time })).exactOptional(),
  rooms: z.array(z.tuple([node, z.object({ untilMs: time, durationMs: duration, added: group.exactOptional() })])).exactOptional(),
  replaced: z
    .array(
      z.tuple([
        group,
        z.object({
          sinceMs: time,
          image: word.exactOptional(),
          again: node.exactOptional(),
          closure: z.object({ untilMs: time, durationMs: duration }).exactOptional(),
        }),
      ]),
    )
    .exactOptional(),
});

/** A word that a later version added is an unknown cause, which counts in every budget. Words after the first three are `why`: some versions refuse them as `cause`. */
const cause = word.transform((name) => REMOVAL_CAUSES.find((known) => known === name));
const budgetedRemoval = z.object({ group, cause: cause.exactOptional(), why: cause.exactOptional(), startedAtMs: time });

/** Parts that this version does not know are left out. */
export const savedMemory = z.object({
  savedAtMs: time,
  lastScaleUpMs: time,
  lastScaleDownMs: time,
  lastScaleDownFailureMs: time,
  stockouts: z.array(z.object({ scope, code: word, sinceMs: time, untilMs: time })),
  backoffs: z.array(z.tuple([group, backoff])),
  increases: z.array(z.object({ group, nodes: count, requestedAtMs: time, expectedByMs: time })),
  accepted: z.array(z.tuple([group, z.array(accepted)])),
  broken: z.array(z.tuple([group, brokenPromise])),
  brokenZones: z.array(z.tuple([group, brokenPromise])).exactOptional(),
  groupTimes: z.array(z.tuple([group, groupTimes])),
  targets: z.array(z.tuple([group, count])),
  asked: z.array(z.tuple([group, z.array(z.object({ atMs: time, nodes: count }))])),
  readyTimes: z.array(z.tuple([group, z.array(duration).max(100)])).exactOptional(),
  startTimes: z.array(z.tuple([group, z.array(duration).max(100)])).exactOptional(),
  budgetedRemovals: z.array(budgetedRemoval).exactOptional(),
  repacks: repacks.exactOptional(),
  messages: z.array(z.tuple([group, z.string()])),
  idle: z.array(z.tuple([z.string().max(256), z.array(z.tuple([z.string().max(SUFFIX_LENGTH), z.number().min(0)]))])),
});
