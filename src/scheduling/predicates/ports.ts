/** Host ports: same port and protocol collide when the addresses are equal or either one means every address. */
import type { HostPort, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';

const EVERY_ADDRESS = '0.0.0.0';

export function portsCollide(left: HostPort, right: HostPort): boolean {
  if (left.port !== right.port || left.protocol !== right.protocol) return false;
  return left.hostIp === right.hostIp || left.hostIp === EVERY_ADDRESS || right.hostIp === EVERY_ADDRESS;
}

export function takenPort(wanted: readonly HostPort[], used: readonly HostPort[]): HostPort | undefined {
  return wanted.find((port) => used.some((other) => portsCollide(port, other)));
}

export function refusedByPorts(shape: Pick<PodShape, 'hostPorts'>, used: readonly HostPort[]): readonly FitReason[] {
  const taken = takenPort(shape.hostPorts, used);
  return taken === undefined ? [] : [{ kind: 'host-port-taken', port: taken.port, protocol: taken.protocol }];
}
