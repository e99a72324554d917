/**
 * What the settings of an agent pool's kubelets do that no reckoning of room can foresee. It is said to people and decides
 * nothing. Settings that change no room and refuse no pod (swap, process limits, logs, thresholds of image collection: the
 * kubelet's eviction threshold stays what it is) are not read. Pure.
 */
import type { ToldPool } from './agent-pool-list.ts';

export function kubeletCautions({ kubeletConfig, linuxOSConfig }: ToldPool): readonly string[] {
  const policy = kubeletConfig?.topologyManagerPolicy?.toLowerCase() ?? '';
  const aligned = kubeletConfig?.cpuManagerPolicy?.toLowerCase() === 'static' ? 'CPUs and devices' : 'devices';
  const refuses = policy === 'restricted' || policy === 'single-numa-node';
  const swaps = (linuxOSConfig?.swapFileSizeMB ?? 0) > 0 && kubeletConfig?.failSwapOn === true;
  return [
    ...(refuses
      ? [
          `its kubelets align ${aligned} by the topology policy ${policy}: a pod that fits by its sums may be refused on the node (TopologyAffinityError)`,
        ]
      : []),
    ...(swaps ? ['its kubelets refuse to start beside the swap file that it is given (failSwapOn): no node of it will join'] : []),
  ];
}
