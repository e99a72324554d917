import { describe, expect, it } from 'vitest';
import type { DevicePool, NodeDevices } from '../../../src/domain/devices.ts';
import { publishClusterAutoscalerGauges } from '../../../src/observers/cluster-autoscaler-metrics/gauges.ts';
import { createCompatibleMetrics } from '../../../src/telemetry/cluster-autoscaler-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aCluster, aGroup, aNode, anInstance, anObservation, aTemplate } from '../../support/builders.ts';
import { aLoopReport } from '../../support/loop-report.ts';
import { aPolicy } from '../../support/policy.ts';

const DRIVER = 'gpu.example.com';

function pool(driver: string, count: number): DevicePool {
  const device = { driver, pool: 'p', attributes: {}, capacity: {}, taints: [], consumes: [] };
  return { driver, name: 'p', counters: {}, devices: Array.from({ length: count }, (_, index) => ({ ...device, name: `d${index}` })) };
}

describe('devices of a template and of its nodes', () => {
  it.each<[string, readonly DevicePool[], NodeDevices | undefined, readonly string[]]>([
    ['are the same', [pool(DRIVER, 2)], { pools: [pool(DRIVER, 2)], incomplete: [], held: [] }, []],
    ['are not there', [pool(DRIVER, 2)], undefined, [`${DRIVER} missing`]],
    ['are more than expected', [pool(DRIVER, 2)], { pools: [pool(DRIVER, 4)], incomplete: [], held: [] }, [`${DRIVER} mismatch`]],
    ['were not expected', [], { pools: [pool(DRIVER, 1)], incomplete: [], held: [] }, [`${DRIVER} extra`]],
    ['are not all published yet', [pool(DRIVER, 2)], { pools: [], incomplete: [`${DRIVER}/p`], held: [] }, [`${DRIVER} unknown`]],
    ['are none on either side', [], undefined, []],
  ])('%s', async (_name, devicePools, devices, expected) => {
    const metrics = createMetrics();
    const compatible = createCompatibleMetrics(metrics);
    const template = { ...aTemplate(), ...(devicePools.length === 0 ? {} : { devicePools }) };
    const group = aGroup({ id: 'a', template, instances: [anInstance({ node: 'a-0' })] });
    const node = { ...aNode({ name: 'a-0' }), ...(devices === undefined ? {} : { devices }) };
    const observation = anObservation([group], aCluster({ nodes: [node] }));
    publishClusterAutoscalerGauges(aLoopReport({ observation }), aPolicy(), compatible);
    const { values } = await compatible.deviceMismatches.get();
    expect(values.map(({ labels, value }) => [`${labels.driver} ${labels.mismatch_type}`, value])).toEqual(expected.map((one) => [one, 1]));
    metrics.scaleUp.nodes.inc({ node_group: 'a' });
    const drivers = devicePools.map(({ driver }) => driver).join(',');
    expect(await metrics.registry.metrics()).toContain(
      `cluster_autoscaler_scaled_up_nodes_total{gpu_resource_name="",gpu_name="",dra_drivers="${drivers}"} 1\n`,
    );
  });
});
