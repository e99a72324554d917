/** Dry runs of pods: what is sent, how long an answer counts, and what a refusal means. */
import { describe, expect, it } from 'vitest';
import { ResourceNames } from '../../../src/domain/resources.ts';
import type { RestCall } from '../../../src/kubernetes/api/rest.ts';
import { Shapes } from '../../../src/kubernetes/projection/pod-shape.ts';
import { PodDryRuns, type WrittenTemplate } from '../../../src/kubernetes/writes/pod-dry-runs.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const container = (cpu: string) => ({ name: 'app', resources: { requests: { cpu } } });
const template = (cpu: string): WrittenTemplate => ({
  namespace: 'shop',
  name: 'web',
  metadata: { labels: { app: 'web' } },
  spec: { containers: [container(cpu)] },
});

function started(answer: (call: RestCall) => unknown) {
  const calls: RestCall[] = [];
  const clock = new FakeClock(START_MS);
  const rest = {
    json: (call: RestCall): Promise<unknown> => {
      calls.push(call);
      return Promise.resolve(call).then(answer);
    },
  };
  const dryRuns = new PodDryRuns({ rest, clock, log: createLog('silent'), shapes: new Shapes(new ResourceNames()) });
  dryRuns.start(new AbortController().signal);
  const answered = async (written: WrittenTemplate) => {
    dryRuns.lookUp('web', written);
    await new Promise((resolve) => void setImmediate(resolve));
    return dryRuns.lookUp('web', written);
  };
  return { calls, clock, dryRuns, answered };
}

describe('a dry run of a pod', () => {
  const withSidecar = ({ body }: RestCall) => {
    const { spec } = body as { spec: { containers: readonly unknown[] } };
    return { spec: { containers: [...spec.containers, container('500m')] } };
  };

  it('creates nothing, and its answer counts until the template changes or an hour has passed', async () => {
    const { calls, clock, answered, dryRuns } = started(withSidecar);
    expect(dryRuns.lookUp('web', template('1'))).toBeUndefined();
    expect(await answered(template('1'))).toMatchObject({ shape: { requests: new Float64Array([1_500, 0, 0, 1]) } });
    await answered(template('1'));
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ method: 'POST', path: '/api/v1/namespaces/shop/pods', query: { dryRun: 'All' } });
    expect(calls[0]?.body).toMatchObject({ kind: 'Pod', metadata: { generateName: 'web-', labels: { app: 'web' } } });
    expect(await answered(template('2'))).toMatchObject({ shape: { requests: new Float64Array([2_500, 0, 0, 1]) } });
    await clock.advance(3_600_000);
    await answered(template('2'));
    expect(calls).toHaveLength(3);
    expect(calls.every(({ query }) => query?.['dryRun'] === 'All')).toBe(true);
  });

  it('that is refused says why, and is repeated after five minutes', async () => {
    let refuses = true;
    const { calls, clock, answered } = started((call) => {
      if (refuses) throw new AutoscalerError({ kind: 'kube-api', status: 403 }, 'pods is forbidden');
      return withSidecar(call);
    });
    expect(await answered(template('1'))).toEqual({ refused: 'pods is forbidden' });
    refuses = false;
    expect(await answered(template('1'))).toEqual({ refused: 'pods is forbidden' });
    expect(calls).toHaveLength(1);
    await clock.advance(300_000);
    expect(await answered(template('1'))).toHaveProperty('shape');
  });
});
