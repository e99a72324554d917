/** How the programs that `main.ts` found reach the tests, which run in other processes. */
import { FEW_CONTROLLERS } from '../../world/simulator/real-control-plane/program-arguments.ts';
import type { ControlPlaneOptions } from '../../world/simulator/real-control-plane/control-plane.ts';
import type { Binaries } from './binaries.ts';

/** The minor version of Kubernetes, such as `1.36`. */
export const MINOR_VARIABLE = 'AKS_AUTOSCALER_E2E_KUBERNETES';
export const BINARIES_VARIABLE = 'AKS_AUTOSCALER_E2E_BINARIES';
/** The main file of the program under test, bundled as it ships. */
export const PROGRAM_VARIABLE = 'AKS_AUTOSCALER_E2E_PROGRAM';

/** @throws Error when a test was started without `npm run test:e2e`. */
export function givenBinaries(): Binaries {
  const text = process.env[BINARIES_VARIABLE];
  if (text === undefined) throw new Error('Run these tests with `npm run test:e2e`: it finds the control plane.');
  return JSON.parse(text) as Binaries;
}

/** @throws Error when a test was started without `npm run test:e2e`. */
export function givenProgram(): string {
  const file = process.env[PROGRAM_VARIABLE];
  if (file === undefined) throw new Error('Run these tests with `npm run test:e2e`: it bundles the program.');
  return file;
}

/** How a scenario starts its control plane: with the controllers that the scenarios need. */
export function planeOf(programs: Binaries): Pick<ControlPlaneOptions, 'programs' | 'searchPath' | 'controllers'> {
  return { programs, searchPath: process.env['PATH'], controllers: FEW_CONTROLLERS };
}

const cache = process.env['NODE_COMPILE_CACHE'];
/** For the environment of the program under test: it starts in two thirds of the time if this process has a cache. */
export const COMPILE_CACHE: Readonly<Record<string, string>> = cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };
