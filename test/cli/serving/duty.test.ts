/** Whether a replica may act, in one sentence. */
import { expect, it } from 'vitest';
import { describeDuty } from '../../../src/cli/serving/duty.ts';
import { aCloud, aCluster, aGroup, anInstance, aNode, anObservation, START_MS } from '../../support/builders.ts';
import { aLoopReport } from '../../support/loop-report.ts';
import { aPolicy } from '../../support/policy.ts';

const calm = anObservation([], aCluster({ nodes: [aNode({ name: 'a' })] }));
const nodes = Array.from({ length: 10 }, (_, at) =>
  aNode({ name: `n${at}`, readiness: { ready: at < 5, sinceMs: START_MS - 3_500_000, reason: '' } }),
);
const group = aGroup({ id: 'a', target: 10, instances: nodes.map(({ name }) => anInstance({ node: name })) });
const sick = anObservation([group], aCluster({ nodes }));
const blind = { ...calm, cloud: aCloud([], calm.cluster, { scaleUpBlocked: 'Azure has not been read for 20 minutes' }) };
const stale = { ...calm, cluster: { ...calm.cluster, stalenessMs: 400_000 } };

const LEADER = {
  leads: true,
  leader: 'one',
  namespace: 'kube-system',
  port: 8085,
  dryRun: false,
  report: aLoopReport({ observation: calm }),
  policy: aPolicy(),
};

it.each([
  ['leads; may act', true, {}],
  ['leads; does not act: it is a dry run', false, { dryRun: true }],
  ['leads; does not act yet: no loop has observed the cluster', false, { report: undefined }],
  ['leads; does not act yet: no loop has observed the cluster', false, { report: aLoopReport() }],
  ['leads; does not act: 5 of 10 nodes are not ready', false, { report: aLoopReport({ observation: sick }) }],
  ['leads; does not act: Azure has not been read for 20 minutes', false, { report: aLoopReport({ observation: blind }) }],
  [
    'leads; does not act: a watch of the cluster last received data 400 s ago; the limit is 60 s',
    false,
    { report: aLoopReport({ observation: stale }), policy: aPolicy({ scaleUp: { maxClusterStalenessMs: 60_000 } }) },
  ],
  ['stands by; other leads: kubectl -n kube-system port-forward pod/other 8085', false, { leads: false, leader: 'other' }],
  ['stands by; no replica is known to lead', false, { leads: false, leader: undefined }],
] as const)('%s', (sentence, mayAct, change) => {
  const duty = describeDuty({ ...LEADER, ...change });
  expect(duty).toMatchObject({ leads: !('leads' in change), mayAct, sentence });
  // A program finds the leader without reading the sentence.
  const other = 'leader' in change && change.leader !== undefined;
  expect([duty.leader, duty.command]).toEqual(
    other ? ['other', 'kubectl -n kube-system port-forward pod/other 8085'] : [undefined, undefined],
  );
});
