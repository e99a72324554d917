/** One control plane for a file of scenarios, and one world for each of them. */
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { E2eWorld, startPlaneForDaemon, type WorldOptions } from './world.ts';

export interface Scenarios {
  /** The file's control plane; only within a scenario. */
  readonly plane: () => ControlPlane;
  /** The scenario's world, ended with it. No daemon runs yet. */
  readonly begin: (options: Omit<WorldOptions, 'plane'>) => Promise<E2eWorld>;
  /** The same, with one daemon that is ready. */
  readonly beginWithDaemon: (options: Omit<WorldOptions, 'plane'>, flags?: readonly string[]) => Promise<E2eWorld>;
}

/** Call once, at the top of a file: what it starts is ended by the test runner's hooks. */
export function scenarios(): Scenarios {
  let plane: ControlPlane | undefined;
  let world: E2eWorld | undefined;
  beforeAll(async () => {
    plane = await startPlaneForDaemon();
  });
  afterEach(async () => {
    const ended = world;
    world = undefined;
    await ended?.stop();
  });
  afterAll(async () => {
    await plane?.stop();
  });
  const running = (): ControlPlane => {
    if (plane === undefined) throw new Error('The control plane runs only while a scenario does.');
    return plane;
  };
  const begin: Scenarios['begin'] = async (options) => (world = await E2eWorld.start({ plane: running(), ...options }));
  return {
    plane: running,
    begin,
    beginWithDaemon: async (options, flags = []) => {
      const begun = await begin(options);
      await begun.soleDaemon(flags);
      return begun;
    },
  };
}
