/** How large a recording is: an hour of a busy cluster with 500 nodes, as its API describes it, times the hours of a week. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { PodReader } from '../../../src/cli/record/seen-pod.ts';
import { LoadRecorder } from '../../../src/lab/recordings/load-recorder.ts';
import { RecordingLog } from '../../../src/lab/recordings/recording-log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';

const HOUR_MS = 3_600_000;
const HOURS = 168;
const MB = 1_000_000;
/** A tenth of the cluster, so that the test is short; everything grows with the number of pods. */
const SHARE = 10;
const SERVICES = 600 / SHARE;
/** A million in a week. */
const RUNS = 6_000 / SHARE;

const random = seededRandom(7);
const dirs: string[] = [];
afterAll(async () => {
  for (const dir of dirs) await rm(dir, { recursive: true });
});

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z/, 'Z');
}

/** One of forty kinds of builds, whose pods all have labels of their own. */
function build(index: number, atMs: number, runMs: number) {
  const kind = Math.floor(random() * 40);
  const [startedAt, finishedAt] = [iso(atMs + 20_000), iso(atMs + 20_000 + runMs)];
  return {
    metadata: {
      uid: `build-${index}`,
      name: `build-${index}-x`,
      namespace: `team-${kind % 9}`,
      creationTimestamp: iso(atMs),
      labels: { 'job-name': `build-${index}`, pipeline: String(index), app: `build-${kind}` },
      annotations: { 'ci/commit': String(random()) },
      ownerReferences: [{ kind: 'Job', name: `build-${index}`, uid: `job-${index}`, controller: true }],
    },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'b', image: 'ci/runner:1', resources: { requests: { cpu: `${500 + kind * 50}m`, memory: '2Gi' } } }],
      nodeSelector: { 'kubernetes.azure.com/mode': 'user' },
      tolerations: [{ key: 'kubernetes.azure.com/scalesetpriority', operator: 'Equal', value: 'spot', effect: 'NoSchedule' }],
    },
    status: { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { startedAt, finishedAt } } }] },
  };
}

function service(index: number) {
  return {
    metadata: {
      uid: `web-${index}`,
      name: `web-${index}-5d4f6b7c8-x`,
      namespace: `team-${index % 9}`,
      creationTimestamp: iso(START_MS - HOUR_MS),
      labels: { app: `web-${index}`, 'pod-template-hash': '5d4f6b7c8' },
      ownerReferences: [{ kind: 'ReplicaSet', name: `web-${index}-5d4f6b7c8`, uid: `rs-${index}`, controller: true }],
    },
    spec: {
      containers: [{ name: 'a', resources: { requests: { cpu: `${100 + index}m`, memory: '512Mi' } } }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: `web-${index}` } },
        },
      ],
    },
    status: { phase: 'Running' },
  };
}

/** @returns bytes of one hour without the workloads, which a week has once, and bytes of the workloads. */
async function hourOf(ending: string): Promise<{ readonly hourly: number; readonly once: number }> {
  const dir = await mkdtemp(join(tmpdir(), 'recording-size-'));
  dirs.push(dir);
  const sizeAfter = async (hours: number): Promise<number> => {
    const path = join(dir, `${hours}.${ending}`);
    const log = await RecordingLog.create(path, { name: 'week', startMs: START_MS, currency: 'USD' });
    const recorder = new LoadRecorder({ startMs: START_MS });
    const reader = new PodReader();
    const see = (json: object, atMs: number): void => {
      const pod = reader.read(json);
      if (pod !== undefined) recorder.seePod(pod, atMs);
    };
    for (let index = 0; index < SERVICES; index++) see(service(index), START_MS);
    recorder.begin(START_MS);
    for (let minute = 1; minute <= 60 * hours; minute++) {
      const nowMs = START_MS + minute * 60_000;
      for (let index = 0; index < RUNS / 60; index++) {
        const number = minute * 1_000 + index;
        const runMs = Math.floor(random() * random() * 1_800) * 1_000;
        see(build(number, nowMs + Math.floor(random() * 60) * 1_000, runMs), nowMs);
        recorder.forgetPod(`build-${number}`, nowMs);
      }
      // Every service follows its load four times in an hour.
      for (let index = minute % 15; index < SERVICES; index += 15)
        recorder.setReplicas(
          { kind: 'Deployment', namespace: `team-${index % 9}`, name: `web-${index}`, replicas: 2 + Math.floor(random() * 60) },
          nowMs,
        );
      log.append(recorder.take(nowMs));
    }
    log.append(recorder.end(START_MS + hours * HOUR_MS));
    await log.finish();
    return (await stat(path)).size;
  };
  const [one, two] = [await sizeAfter(1), await sizeAfter(2)];
  return { hourly: two - one, once: one - (two - one) };
}

it('a week of 500 busy nodes has less than 50 MB compressed', async () => {
  const { hourly, once } = await hourOf('jsonl.gz');
  const week = SHARE * (once + HOURS * hourly);
  expect(week / MB).toBeLessThan(50);
  // Not because nothing was recorded.
  expect(week / MB).toBeGreaterThan(5);
});
