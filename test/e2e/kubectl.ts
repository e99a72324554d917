/** The kubectl that came with the control plane, as its admin. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { givenBinaries } from './given.ts';

/** @returns its standard output. Rejects when it fails. */
export async function kubectl(plane: ControlPlane, ...args: readonly string[]): Promise<string> {
  const [program, ...first] = givenBinaries().kubectl;
  const env = { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: plane.adminKubeconfig };
  return (await promisify(execFile)(program, [...first, ...args], { env })).stdout;
}
