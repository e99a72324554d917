/**
 * Loaded into the measured daemon before its program: the longest turn of the event loop between two questions of the bench, by the clock and by
 * the processor. Its timer wakes the process all the time, so it runs only while it is asked to. Beside a profile it writes down when each
 * long turn ended, so that the profile shows what it did. Must not know the daemon.
 */
import { liveHeap, writeSnapshot } from './live-heap.ts';
import type { LongestTurn, MeterOrder } from './world-orders.ts';

const TICK_MS = 2;
const LONG_MS = 50;
const isProfiled = process.execArgv.includes('--cpu-prof');
const NOTHING: LongestTurn = { wallMs: 0, cpuMs: 0 };

let longest = NOTHING;
let timer: NodeJS.Timeout | undefined;
let [lastMs, lastCpuMs] = [0, 0];

/** Of this thread alone: garbage is collected beside the turn by others. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function tick(): void {
  const [nowMs, cpuMs] = [performance.now(), threadCpuMs()];
  const turn = { wallMs: nowMs - lastMs - TICK_MS, cpuMs: cpuMs - lastCpuMs };
  if (isProfiled && turn.cpuMs > LONG_MS) process.stderr.write(`${JSON.stringify({ endedMs: nowMs, ...turn })}\n`);
  longest = { wallMs: Math.max(longest.wallMs, turn.wallMs), cpuMs: Math.max(longest.cpuMs, turn.cpuMs) };
  [lastMs, lastCpuMs] = [performance.now(), threadCpuMs()];
}

function start(): void {
  [longest, lastMs, lastCpuMs] = [NOTHING, performance.now(), threadCpuMs()];
  timer ??= setInterval(tick, TICK_MS).unref();
}

function stop(): void {
  clearInterval(timer);
  timer = undefined;
  process.send?.(longest);
}

function obey(order: MeterOrder): void {
  if (order === 'start') start();
  else if (order === 'stop') stop();
  else if (order === 'live-heap') void liveHeap().then((heap) => process.send?.(heap));
  else process.send?.(writeSnapshot(order.snapshotTo));
}

process.on('message', obey);
process.channel?.unref();
