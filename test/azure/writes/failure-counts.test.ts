import { describe, expect, it } from 'vitest';
import { FailureCounts } from '../../../src/azure/writes/failure-counts.ts';
import type { ErrorKind } from '../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aGroup, anInstance, keyOf } from '../../support/builders.ts';

const A = nodeGroupId('a');
const stock = { detail: { kind: 'out-of-capacity', scope: {} } as ErrorKind, code: 'AllocationFailed' };
const bootstrap = {
  detail: { kind: 'unavailable', effect: 'unknown' } as ErrorKind,
  code: 'VMExtensionProvisioningError',
  message: 'exit 50',
};

function aCount() {
  const clock = { now: 0, monotonic: () => clock.now };
  const { failures } = createMetrics().scaleUp;
  const counts = new FailureCounts(failures, clock);
  const told = async () => {
    const { values } = await failures.get();
    return Object.fromEntries(
      values.filter(({ value }) => value > 0).map(({ labels, value }) => [`${labels.node_group} ${labels.reason}`, value]),
    );
  };
  const groupOf = (nodes: readonly string[]) =>
    aGroup({ id: 'a', instances: nodes.map((node) => anInstance({ node, state: 'failed', error: bootstrap })) });
  const machines = (...nodes: readonly string[]) => counts.countFailedInstances({ groups: [groupOf(nodes)], instanceOfNode: new Map() });
  const joined = (...nodes: readonly string[]) =>
    counts.countFailedInstances({ groups: [groupOf(nodes)], instanceOfNode: new Map(nodes.map((node) => [node, keyOf(node)])) });
  return { clock, counts, failures, told, machines, joined };
}

describe('orders that came to nothing', () => {
  it('a refusal is one each time', async () => {
    const { counts, told } = aCount();
    counts.countRefusal(A, stock);
    counts.countRefusal(A, stock);
    counts.countRefusal(A, { detail: { kind: 'cancelled' }, code: undefined });
    expect(await told()).toEqual({ 'a stock': 2 });
  });

  it('of headroom alone are not counted, until pods ask', async () => {
    const { counts, told } = aCount();
    counts.expect(A, 'not-counted');
    counts.countRefusal(A, stock);
    counts.countLateFailure(A, bootstrap);
    expect(await told()).toEqual({});
    counts.expect(A, 'counted');
    counts.countRefusal(A, stock);
    expect(await told()).toEqual({ 'a stock': 1 });
  });

  it('an operation and its machines are one, whichever is heard first', async () => {
    const { counts, told, machines, clock } = aCount();
    machines('a-0', 'a-1');
    counts.countLateFailure(A, bootstrap);
    expect(await told()).toEqual({ 'a bootstrap': 1 });
    clock.now = 5 * 60_000;
    counts.countLateFailure(A, bootstrap);
    machines('a-0', 'a-1', 'a-2');
    expect(await told()).toEqual({ 'a bootstrap': 2 });
  });

  it('machines that stay failed are not counted again', async () => {
    const { told, machines, clock } = aCount();
    for (clock.now = 0; clock.now < 3_600_000; clock.now += 10_000) machines('a-0');
    expect(await told()).toEqual({ 'a bootstrap': 1 });
  });

  it('a machine that fails after it became a node was no order that came to nothing', async () => {
    const { told, joined, machines } = aCount();
    joined('a-0', 'a-1');
    expect(await told()).toEqual({});
    machines('a-2');
    expect(await told()).toEqual({ 'a bootstrap': 1 });
  });

  it('every reason begins at 0 for every group', async () => {
    const { failures, machines } = aCount();
    machines();
    const { values } = await failures.get();
    expect(values.length).toBeGreaterThan(10);
    expect(values.every(({ value, labels }) => value === 0 && labels.node_group === 'a')).toBe(true);
  });
});
