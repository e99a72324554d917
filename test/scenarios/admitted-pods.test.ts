/** Copies of a workload count as the API server admits its pods: with the container that a webhook adds. */
import { expect, it } from 'vitest';
import { configFile } from '../support/temporary-folder.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, MINUTE, SECOND, worldOf } from './support.ts';

it('room for copies is as large as pods with an injected side-car; a refused dry run leaves the template and is reported', async () => {
  const injectedContainers = [{ namespace: 'default', name: 'proxy', requests: { cpu: '1500m', memory: '64Mi' } }];
  const run = await startedWorld({ spec: worldOf([aPool({ name: 'general' })], { injectedContainers }) });
  await run.stopDaemon();
  const file = configFile(
    'capacity: {podDryRun: true}\nnodeGroupOptions: [{name: general, headroom: {copiesOf: deployment/web, count: 2}}]\n',
  );
  run.world.cluster.apply(deployment({ name: 'web', replicas: 0, cpu: '1' }));
  run.world.cluster.control.failNext(1, 403, { verb: 'create', resource: 'pods' });
  await run.startDaemon([`--config=${file}`]);
  const row = () => run.reports.at(-1)?.observation?.cluster.capacity?.scalables?.get('Deployment.apps/default/web');
  // No pod shows what admission adds. As written, two copies of one vCPU fit on the node; with the side-car the second one needs another.
  await run.until('the refusal is known', () => row()?.notAdmitted !== undefined, MINUTE);
  expect(row()?.shape.requests[0]).toBe(1_000);
  expect(capacity(run, 'general')).toBe(1);
  await run.until('the dry run is repeated', () => row()?.shape.requests[0] === 2_500, 7 * MINUTE);
  await run.until('the second copy has a node', () => capacity(run, 'general') === 2, 2 * MINUTE);
  const dryRuns = run.world.cluster
    .journal()
    .filter(({ verb, resource, url }) => verb === 'create' && resource === 'pods' && url.includes('dryRun=All'));
  expect(dryRuns).toHaveLength(2);
  await run.advance(3 * MINUTE);
  const startedMs = run.clock.now();
  run.world.cluster.apply(deployment({ name: 'web', replicas: 2, cpu: '1' }));
  await run.until('both are bound at once', () => bound(run, 'web') === 2, MINUTE);
  expect(run.clock.now() - startedMs).toBeLessThan(20 * SECOND);
  expect(
    run.world.cluster.store
      .list('pods')
      .filter(({ metadata }) => metadata.name.startsWith('web-') && metadata.labels?.['app'] === undefined),
  ).toEqual([]);
  expect(run.world.violations()).toEqual([]);
});
