/** Loaded into the measured daemon: what of its heap is in use when all garbage is collected. Must not know the daemon. */
import { Session } from 'node:inspector/promises';
import { writeHeapSnapshot } from 'node:v8';
import type { LiveHeap } from './world-orders.ts';

/** What the first collection finalizes goes with the second. */
const COLLECTIONS = 2;

export async function liveHeap(): Promise<LiveHeap> {
  const session = new Session();
  session.connect();
  for (let count = 0; count < COLLECTIONS; count++) await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
  const { heapUsed, external } = process.memoryUsage();
  return { usedMb: heapUsed / 2 ** 20, externalMb: external / 2 ** 20 };
}

/** @returns the path of the file. It stops the process for some seconds. */
export function writeSnapshot(file: string): string {
  return writeHeapSnapshot(file);
}
